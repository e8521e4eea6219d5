// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv03

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

func newDecoder(text []byte) *decoder { return &decoder{Reader: pbwire.New(text)} }

var sendFields = pbwire.Message{
	1: pbwire.Bytes("message"),
	2: pbwire.Bytes("configuration"),
	3: pbwire.Bytes("metadata"),
}

// DecodeSend reads a SendMessageRequest. It fails for a message without an id,
// which the proto requires.
func DecodeSend(text []byte) (*a2a.SendRequest, error) {
	d := newDecoder(text)
	s := &a2a.SendRequest{}
	for f := range d.Fields(sendFields) {
		switch f {
		case 1:
			s.Message = d.message()
		case 2:
			d.configuration(s)
		case 3:
			s.Metadata = d.Object()
		}
	}
	d.required("message", s.Message != nil)
	d.required("message.messageId", s.Message == nil || s.Message.ID != "")
	return s, d.Err()
}

var configurationFields = pbwire.Message{
	1: pbwire.Repeated("acceptedOutputModes"),
	2: pbwire.Bytes("pushNotification"),
	3: pbwire.Varint("historyLength"),
	4: pbwire.Varint("blocking"),
}

// configuration takes blocking as it is: a client that sends a configuration
// leaves it out when it means false. One that sends none means to wait.
func (d *decoder) configuration(s *a2a.SendRequest) {
	blocking := false
	for f := range d.Fields(configurationFields) {
		switch f {
		case 1:
			s.AcceptedOutputModes = d.Append(s.AcceptedOutputModes, maxStrings)
		case 2:
			s.Push = &a2a.PushConfig{Dialect: pushDialect}
			d.pushConfig(s.Push)
		case 3:
			s.HistoryLength = d.historyLength()
		case 4:
			blocking = d.Bool()
		}
	}
	s.ReturnImmediately = !blocking
}

var getFields = pbwire.Message{
	1: pbwire.Bytes("name"),
	2: pbwire.Varint("historyLength"),
}

// DecodeGet reads a GetTaskRequest.
func DecodeGet(text []byte) (*a2a.GetRequest, error) {
	d := newDecoder(text)
	g := &a2a.GetRequest{}
	for f := range d.Fields(getFields) {
		switch f {
		case 1:
			g.TaskID = d.taskName()
		case 2:
			g.HistoryLength = d.historyLength()
		}
	}
	d.required("name", g.TaskID != "")
	return g, d.Err()
}

// DecodeCancel reads a CancelTaskRequest.
func DecodeCancel(text []byte) (*a2a.CancelRequest, error) {
	id, err := decodeName(text)
	return &a2a.CancelRequest{TaskID: id}, err
}

// DecodeSubscribe reads a TaskSubscriptionRequest.
func DecodeSubscribe(text []byte) (*a2a.SubscribeRequest, error) {
	id, err := decodeName(text)
	return &a2a.SubscribeRequest{TaskID: id}, err
}

func decodeName(text []byte) (id string, err error) {
	d := newDecoder(text)
	for range d.Fields(getFields[:2]) {
		id = d.taskName()
	}
	d.required("name", id != "")
	return id, d.Err()
}

// historyLength reads a number that means nothing when it is 0.
func (d *decoder) historyLength() *int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	if n == 0 {
		return nil
	}
	return &n
}
