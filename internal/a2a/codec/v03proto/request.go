// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03proto

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// DecodeSend reads a SendMessageRequest. It fails for a message without an id,
// which the proto requires.
func DecodeSend(body []byte) (*a2a.SendRequest, error) {
	d := fromClient(body)
	s := &a2a.SendRequest{}
	for f := range d.members() {
		switch f {
		case fieldMessage:
			s.Message = d.message()
		case fieldConfiguration:
			d.configuration(s)
		case fieldMetadata:
			s.Metadata = d.Object()
		}
	}
	switch {
	case s.Message == nil:
		d.FailAt("message", "is required")
	case s.Message.ID == "":
		d.FailAt("message.messageId", "is required")
	}
	return s, d.End()
}

// configuration takes blocking as it is: a bool without presence, so that its
// absence means false. Clients that want to block and say nothing send no
// configuration.
func (d *decoder) configuration(s *a2a.SendRequest) {
	blocking := false
	for f := range d.members() {
		switch f {
		case fieldAcceptedOutputModes:
			s.AcceptedOutputModes = d.Strings(maxStrings)
		case fieldBlocking:
			blocking = d.Bool()
		case fieldHistoryLength:
			s.HistoryLength = d.historyLength()
		case fieldPushConfig:
			s.Push = d.pushConfig()
		}
	}
	s.ReturnImmediately = !blocking
}

// historyLength reads a number without presence: 0 is unset, and asks for all.
func (d *decoder) historyLength() *int {
	n := d.IntOrText()
	if n < 0 {
		d.Fail("must not be negative")
	}
	if n == 0 {
		return nil
	}
	return &n
}

// DecodeCancel reads the body of a CancelTaskRequest whose task is named by the
// path; it may name it again.
func DecodeCancel(body []byte) (*a2a.CancelRequest, error) {
	task, err := decodeName(body)
	return &a2a.CancelRequest{TaskID: task}, err
}

// DecodeSubscribe reads the body of a TaskSubscriptionRequest whose task is
// named by the path; it may name it again.
func DecodeSubscribe(body []byte) (*a2a.SubscribeRequest, error) {
	task, err := decodeName(body)
	return &a2a.SubscribeRequest{TaskID: task}, err
}

func decodeName(body []byte) (task string, err error) {
	d := fromClient(body)
	for f := range d.members() {
		if f == fieldName {
			task, _ = d.name()
		}
	}
	return task, d.End()
}

// AppendSend appends a SendMessageRequest, for a server of this version. That
// no history is wanted cannot be said.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = AppendMessage(dst, r.Message)
	dst = jsonwrite.Bool(dst, `,"configuration":{"blocking":`, !r.ReturnImmediately)
	dst = jsonwrite.Strings(dst, `,"acceptedOutputModes":`, r.AcceptedOutputModes)
	if r.HistoryLength != nil && *r.HistoryLength > 0 {
		dst = strconv.AppendInt(append(dst, `,"historyLength":`...), int64(*r.HistoryLength), 10)
	}
	if r.Push != nil {
		dst = append(dst, `,"pushNotification":`...)
		dst = appendPushConfig(dst, r.Push)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}
