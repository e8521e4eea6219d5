// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// DecodeSend reads TaskSendParams. The client chooses the id of the task, also of a
// new one.
func DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := fromClient(params)
	s := &a2a.SendRequest{Dialect: a2a.DialectV01, ClientTaskID: true, HistoryLength: none()}
	var task, session string
	for name := range d.Members() {
		switch string(name) {
		case "id":
			task = d.id()
		case "sessionId":
			session = d.id()
		case "message":
			s.Message = d.message()
		case "acceptedOutputModes":
			// Early samples of 0.1 send it.
			s.AcceptedOutputModes = d.Strings(maxStrings)
		case "historyLength":
			s.HistoryLength = d.historyLength()
		case "pushNotification":
			s.Push = d.pushConfig()
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
	return &a2a.GetRequest{TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeCancel reads TaskIdParams.
func DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.CancelRequest{TaskID: p.id, Metadata: p.metadata}, err
}

// DecodeSubscribe reads TaskQueryParams.
func DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.SubscribeRequest{TaskID: p.id, HistoryLength: p.historyLength}, err
}

type taskParams struct {
	id            string
	historyLength *int
	metadata      a2a.Object
}

func decodeTaskParams(params []byte) (taskParams, error) {
	d := fromClient(params)
	p := taskParams{historyLength: none()}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			p.id = d.id()
		case "historyLength":
			p.historyLength = d.historyLength()
		case "metadata":
			p.metadata = d.Object()
		}
	}
	if p.id == "" {
		d.FailAt("id", "is required")
	}
	return p, d.End()
}

// none returns the history length of a request without one: no messages.
func none() *int { return new(0) }

func (d *decoder) historyLength() *int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return &n
}
