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

// DecodeSend reads TaskSendParams. The client chooses the id of the task, even of a new
// one.
func DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := fromClient(params)
	s := &a2a.SendRequest{Dialect: a2a.DialectV01, ClientTaskID: true, HistoryLength: none()}
	var task, session string
	for name := range d.Members() {
		switch string(name) {
		case "id":
			task = d.ID()
		case "sessionId":
			session = d.ID()
		case "message":
			s.Message = d.message()
		case "acceptedOutputModes":
			// Early samples of 0.1 send this member.
			s.AcceptedOutputModes = d.Strings(legacyjson.MaxStrings)
		case "historyLength":
			s.HistoryLength = d.HistoryLength()
		case "pushNotification":
			s.Push = d.PushConfig(a2a.DialectV01)
		case "metadata":
			s.Metadata = d.Object()
		}
	}
	if task == "" {
		d.FailAt("id", "is required")
	}
	if s.Message == nil {
		d.FailAt("message", "is required")
		return s, d.End()
	}
	s.Message.TaskID, s.Message.ContextID = task, session
	return s, d.End()
}

// DecodeGet reads TaskQueryParams.
func DecodeGet(params []byte) (*a2a.GetRequest, error) {
	p, err := decodeTaskParams(params)
	return p.Get(), err
}

// DecodeCancel reads TaskIdParams.
func DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	p, err := decodeTaskParams(params)
	return p.Cancel(), err
}

// DecodeSubscribe reads TaskQueryParams.
func DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	p, err := decodeTaskParams(params)
	return p.Subscribe(), err
}

func decodeTaskParams(params []byte) (legacyjson.TaskParams, error) {
	return fromClient(params).TaskParams(none())
}

// none returns the history length for a request without a history length: no messages.
func none() *int { return new(0) }

// DecodeSetPush reads a TaskPushNotificationConfig. The configuration has no id, because a
// task has one configuration.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	return fromClient(params).SetPush(a2a.DialectV01, "id")
}

// DecodeGetPush reads TaskIdParams.
func DecodeGetPush(params []byte) (*a2a.PushRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.PushRequest{TaskID: p.ID}, err
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	return legacyjson.AppendPush(dst, `{"id":`, c, "")
}
