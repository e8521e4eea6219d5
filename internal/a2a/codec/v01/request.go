// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// AppendSend appends TaskSendParams, for a server of this version. The message must
// have a task id.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.Message.TaskID)
	dst = jsonwrite.Optional(dst, `,"sessionId":`, r.Message.ContextID)
	dst = append(dst, `,"message":`...)
	dst = appendMessage(dst, r.Message)
	dst = appendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"pushNotification":`...)
		dst = appendPushConfig(dst, r.Push)
	}
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = appendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendSubscribe appends TaskQueryParams.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = appendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}

func appendHistoryLength(dst []byte, n *int) []byte {
	if n == nil {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}
