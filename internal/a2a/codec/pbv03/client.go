// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv03

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// AppendSend appends the content of a SendMessageRequest. It always has a
// configuration, so that blocking is said.
func AppendSend(dst []byte, s *a2a.SendRequest) []byte {
	dst = appendMessage(dst, 1, s.Message)
	dst, at := pbwire.Begin(dst, 2)
	dst = pbwire.AppendStrings(dst, 1, s.AcceptedOutputModes)
	if s.Push != nil {
		dst = appendPushConfig(dst, 2, s.Push)
	}
	dst = appendHistoryLength(dst, 3, s.HistoryLength)
	dst = pbwire.AppendBool(dst, 4, !s.ReturnImmediately)
	dst = pbwire.End(dst, at)
	return pbwire.AppendObject(dst, 3, s.Metadata)
}

// AppendGet appends the content of a GetTaskRequest.
func AppendGet(dst []byte, g *a2a.GetRequest) []byte {
	dst = pbwire.AppendString(dst, 1, tasks+g.TaskID)
	return appendHistoryLength(dst, 2, g.HistoryLength)
}

// AppendCancel appends the content of a CancelTaskRequest.
func AppendCancel(dst []byte, c *a2a.CancelRequest) []byte {
	return pbwire.AppendString(dst, 1, tasks+c.TaskID)
}

// AppendSubscribe appends the content of a TaskSubscriptionRequest.
func AppendSubscribe(dst []byte, s *a2a.SubscribeRequest) []byte {
	return pbwire.AppendString(dst, 1, tasks+s.TaskID)
}

// appendHistoryLength cannot ask for no history: 0 asks for all of it. One
// message is the nearest.
func appendHistoryLength(dst []byte, number protowire.Number, n *int) []byte {
	if n == nil {
		return dst
	}
	return pbwire.AppendInt(dst, number, max(*n, 1))
}
