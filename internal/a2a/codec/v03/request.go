// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
)

// AppendSend appends MessageSendParams, for a server of this version.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = AppendMessage(dst, r.Message)
	// Up to 0.2.5, a configuration must have acceptedOutputModes.
	dst = jsonwrite.Array(append(dst, `,"configuration":{"acceptedOutputModes":`...), r.AcceptedOutputModes, jsonwrite.String)
	dst = jsonwrite.Bool(dst, `,"blocking":`, !r.ReturnImmediately)
	dst = legacyjson.AppendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"pushNotificationConfig":`...)
		dst = legacyjson.AppendPushConfig(dst, r.Push, r.Push.ID)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte { return legacyjson.AppendGet(dst, r) }

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte { return legacyjson.AppendCancel(dst, r) }

// AppendSubscribe appends TaskIdParams.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	return append(dst, '}')
}
