// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
)

// AppendSend appends TaskSendParams, for a server of this version. The message must
// have a task id.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.Message.TaskID)
	dst = jsonwrite.Optional(dst, `,"sessionId":`, r.Message.ContextID)
	dst = append(dst, `,"message":`...)
	dst = appendMessage(dst, r.Message)
	dst = legacyjson.AppendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"pushNotification":`...)
		dst = legacyjson.AppendPushConfig(dst, r.Push, "")
	}
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte { return legacyjson.AppendGet(dst, r) }

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte { return legacyjson.AppendCancel(dst, r) }

// AppendSubscribe appends TaskQueryParams.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = legacyjson.AppendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}
