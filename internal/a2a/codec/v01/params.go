// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
)

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
