// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v10

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// AppendSend appends a SendMessageRequest, for a server of this version.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = AppendMessage(dst, r.Message)
	dst = jsonwrite.Bool(dst, `,"configuration":{"returnImmediately":`, r.ReturnImmediately)
	dst = jsonwrite.Strings(dst, `,"acceptedOutputModes":`, r.AcceptedOutputModes)
	dst = appendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"taskPushNotificationConfig":`...)
		dst = AppendPush(dst, r.Push)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	dst = jsonwrite.Optional(dst, `,"tenant":`, r.Tenant)
	return append(dst, '}')
}

// AppendGet appends a GetTaskRequest.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = appendHistoryLength(dst, r.HistoryLength)
	dst = jsonwrite.Optional(dst, `,"tenant":`, r.Tenant)
	return append(dst, '}')
}

// AppendCancel appends a CancelTaskRequest.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	dst = jsonwrite.Optional(dst, `,"tenant":`, r.Tenant)
	return append(dst, '}')
}

// AppendSubscribe appends a SubscribeToTaskRequest.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Optional(dst, `,"tenant":`, r.Tenant)
	return append(dst, '}')
}

func appendHistoryLength(dst []byte, n *int) []byte {
	if n == nil {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}
