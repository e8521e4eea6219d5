// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv10

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

func newDecoder(text []byte) *decoder { return &decoder{Reader: pbwire.New(text)} }

var sendFields = pbwire.Message{
	1: pbwire.Bytes("tenant"),
	2: pbwire.Bytes("message"),
	3: pbwire.Bytes("configuration"),
	4: pbwire.Bytes("metadata"),
}

// DecodeSend reads a SendMessageRequest.
func DecodeSend(text []byte) (*a2a.SendRequest, error) {
	d := newDecoder(text)
	s := &a2a.SendRequest{}
	for f := range d.Fields(sendFields) {
		switch f {
		case 1:
			s.Tenant = d.tenant()
		case 2:
			s.Message = d.message()
		case 3:
			d.configuration(s)
		case 4:
			s.Metadata = d.Object()
		}
	}
	d.required("message", s.Message != nil)
	return s, d.Err()
}

var configurationFields = pbwire.Message{
	1: pbwire.Repeated("acceptedOutputModes"),
	2: pbwire.Bytes("taskPushNotificationConfig"),
	3: pbwire.Varint("historyLength"),
	4: pbwire.Varint("returnImmediately"),
}

func (d *decoder) configuration(s *a2a.SendRequest) {
	for f := range d.Fields(configurationFields) {
		switch f {
		case 1:
			s.AcceptedOutputModes = d.Append(s.AcceptedOutputModes, maxStrings)
		case 2:
			s.Push, _ = d.pushConfig()
		case 3:
			s.HistoryLength = d.length()
		case 4:
			s.ReturnImmediately = d.Bool()
		}
	}
}

var getFields = pbwire.Message{
	1: pbwire.Bytes("tenant"),
	2: pbwire.Bytes("id"),
	3: pbwire.Varint("historyLength"),
}

// DecodeGet reads a GetTaskRequest.
func DecodeGet(text []byte) (*a2a.GetRequest, error) {
	d := newDecoder(text)
	g := &a2a.GetRequest{}
	for f := range d.Fields(getFields) {
		switch f {
		case 1:
			g.Tenant = d.tenant()
		case 2:
			g.TaskID = d.id()
		case 3:
			g.HistoryLength = d.length()
		}
	}
	d.required("id", g.TaskID != "")
	return g, d.Err()
}

var listFields = pbwire.Message{
	1: pbwire.Bytes("tenant"),
	2: pbwire.Bytes("contextId"),
	3: pbwire.Varint("status"),
	4: pbwire.Varint("pageSize"),
	5: pbwire.Bytes("pageToken"),
	6: pbwire.Varint("historyLength"),
	7: pbwire.Bytes("statusTimestampAfter"),
	8: pbwire.Varint("includeArtifacts"),
}

// DecodeList reads a ListTasksRequest.
func DecodeList(text []byte) (*a2a.ListRequest, error) {
	d := newDecoder(text)
	l := &a2a.ListRequest{}
	for f := range d.Fields(listFields) {
		switch f {
		case 1:
			l.Tenant = d.tenant()
		case 2:
			l.ContextID = d.id()
		case 3:
			l.State = d.state()
		case 4:
			// The official Go client says 0 where it was told nothing.
			if l.PageSize = d.Int(); l.PageSize < 0 || l.PageSize > 100 {
				d.Fail("must be between 1 and 100")
			}
		case 5:
			l.PageToken = d.String()
		case 6:
			l.HistoryLength = d.length()
		case 7:
			l.Since = d.Time()
		case 8:
			l.IncludeArtifacts = d.Bool()
		}
	}
	return l, d.Err()
}

var cancelFields = pbwire.Message{
	1: pbwire.Bytes("tenant"),
	2: pbwire.Bytes("id"),
	3: pbwire.Bytes("metadata"),
}

// DecodeCancel reads a CancelTaskRequest.
func DecodeCancel(text []byte) (*a2a.CancelRequest, error) {
	d := newDecoder(text)
	c := &a2a.CancelRequest{}
	for f := range d.Fields(cancelFields) {
		switch f {
		case 1:
			c.Tenant = d.tenant()
		case 2:
			c.TaskID = d.id()
		case 3:
			c.Metadata = d.Object()
		}
	}
	d.required("id", c.TaskID != "")
	return c, d.Err()
}

// DecodeSubscribe reads a SubscribeToTaskRequest.
func DecodeSubscribe(text []byte) (*a2a.SubscribeRequest, error) {
	d := newDecoder(text)
	s := &a2a.SubscribeRequest{}
	for f := range d.Fields(getFields[:3]) {
		switch f {
		case 1:
			s.Tenant = d.tenant()
		case 2:
			s.TaskID = d.id()
		}
	}
	d.required("id", s.TaskID != "")
	return s, d.Err()
}

// DecodeExtendedCard reads a GetExtendedAgentCardRequest, and returns its tenant.
func DecodeExtendedCard(text []byte) (tenant string, err error) {
	d := newDecoder(text)
	for range d.Fields(getFields[:2]) {
		tenant = d.tenant()
	}
	return tenant, d.Err()
}

// length reads a number of messages or of entries.
func (d *decoder) length() *int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return &n
}

func (d *decoder) tenant() string {
	tenant := d.id()
	if strings.ContainsAny(tenant, `/\`) {
		d.Fail("must not hold a path separator")
	}
	return tenant
}
