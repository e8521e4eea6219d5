// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// DecodeSend reads MessageSendParams. A message without an id keeps an empty one.
func DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := &decoder{Reader: jsonread.New(params)}
	s := &a2a.SendRequest{}
	misplaced := ""
	for name := range d.Members() {
		switch string(name) {
		case "message":
			s.Message = d.message()
		case "messageId":
			// Documents of 0.2 put it beside the message.
			misplaced = d.id()
		case "configuration":
			d.configuration(s)
		case "metadata":
			s.Metadata = d.Object()
		}
	}
	if s.Message == nil {
		d.FailAt("message", "is required")
	} else if s.Message.ID == "" {
		s.Message.ID = misplaced
	}
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

// DecodeSubscribe reads TaskIdParams.
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
	d := &decoder{Reader: jsonread.New(params)}
	var p taskParams
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

func (d *decoder) configuration(s *a2a.SendRequest) {
	for name := range d.Members() {
		switch string(name) {
		case "acceptedOutputModes":
			s.AcceptedOutputModes = d.Strings(maxStrings)
		case "blocking":
			s.ReturnImmediately = !d.Bool()
		case "historyLength":
			s.HistoryLength = d.historyLength()
		case "pushNotificationConfig":
			s.Push = d.pushConfig()
		}
	}
}

func (d *decoder) historyLength() *int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return &n
}

func (d *decoder) pushConfig() *a2a.PushConfig {
	c := &a2a.PushConfig{}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			c.ID = d.id()
		case "url":
			c.URL = d.String()
		case "token":
			c.Token = d.String()
		case "authentication":
			d.authentication(c)
		}
	}
	if c.URL == "" {
		d.FailAt("url", "is required")
	}
	return c
}

// authentication picks the first scheme that can be rendered, or else the
// first.
func (d *decoder) authentication(c *a2a.PushConfig) {
	for name := range d.Members() {
		switch string(name) {
		case "schemes":
			schemes := d.Strings(maxStrings)
			for _, s := range schemes {
				if s == "Bearer" || s == "Basic" {
					c.Scheme = s
					break
				}
			}
			if c.Scheme == "" && len(schemes) > 0 {
				c.Scheme = schemes[0]
			}
		case "credentials":
			c.Credentials = d.String()
		}
	}
}
