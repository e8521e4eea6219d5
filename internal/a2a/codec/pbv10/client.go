// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv10

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// AppendSend appends the content of a SendMessageRequest.
func AppendSend(dst []byte, s *a2a.SendRequest) []byte {
	dst = pbwire.AppendString(dst, 1, s.Tenant)
	dst = appendMessage(dst, 2, s.Message)
	dst, at := pbwire.Begin(dst, 3)
	dst = pbwire.AppendStrings(dst, 1, s.AcceptedOutputModes)
	if s.Push != nil {
		inner, within := pbwire.Begin(dst, 2)
		dst = pbwire.End(AppendPush(inner, s.Push), within)
	}
	dst = pbwire.AppendOptional(dst, 3, s.HistoryLength)
	dst = pbwire.AppendBool(dst, 4, s.ReturnImmediately)
	dst = pbwire.End(dst, at)
	return pbwire.AppendObject(dst, 4, s.Metadata)
}

// AppendGet appends the content of a GetTaskRequest.
func AppendGet(dst []byte, g *a2a.GetRequest) []byte {
	dst = pbwire.AppendString(dst, 1, g.Tenant)
	dst = pbwire.AppendString(dst, 2, g.TaskID)
	return pbwire.AppendOptional(dst, 3, g.HistoryLength)
}

// AppendCancel appends the content of a CancelTaskRequest.
func AppendCancel(dst []byte, c *a2a.CancelRequest) []byte {
	dst = pbwire.AppendString(dst, 1, c.Tenant)
	dst = pbwire.AppendString(dst, 2, c.TaskID)
	return pbwire.AppendObject(dst, 3, c.Metadata)
}

// AppendSubscribe appends the content of a SubscribeToTaskRequest.
func AppendSubscribe(dst []byte, s *a2a.SubscribeRequest) []byte {
	dst = pbwire.AppendString(dst, 1, s.Tenant)
	return pbwire.AppendString(dst, 2, s.TaskID)
}
