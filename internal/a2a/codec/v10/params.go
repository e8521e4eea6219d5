// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v10

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// DecodeSend reads a SendMessageRequest.
func DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := fromClient(params)
	s := &a2a.SendRequest{}
	for f := range d.members() {
		switch f {
		case fieldTenant:
			s.Tenant = d.tenant()
		case fieldMessage:
			s.Message = d.message()
		case fieldConfiguration:
			d.configuration(s)
		case fieldMetadata:
			s.Metadata = d.Object()
		}
	}
	d.required("message", s.Message != nil)
	return s, d.End()
}

// DecodeGet reads a GetTaskRequest.
func DecodeGet(params []byte) (*a2a.GetRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.GetRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeCancel reads a CancelTaskRequest.
func DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.CancelRequest{Tenant: p.tenant, TaskID: p.id, Metadata: p.metadata}, err
}

// DecodeSubscribe reads a SubscribeToTaskRequest.
func DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.SubscribeRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeList reads a ListTasksRequest.
func DecodeList(params []byte) (*a2a.ListRequest, error) {
	d := fromClient(params)
	r := &a2a.ListRequest{}
	for f := range d.members() {
		switch f {
		case fieldTenant:
			r.Tenant = d.tenant()
		case fieldContextID:
			r.ContextID = d.id()
		case fieldStatus:
			r.State = d.state()
		case fieldPageSize:
			if r.PageSize = d.IntOrText(); r.PageSize < 1 || r.PageSize > maxPage {
				d.Fail("must be between 1 and 100")
			}
		case fieldPageToken:
			r.PageToken = d.String()
		case fieldHistoryLength:
			r.HistoryLength = d.historyLength()
		case fieldStatusTimestampAfter:
			r.Since = d.time()
		case fieldIncludeArtifacts:
			r.IncludeArtifacts = d.Bool()
		}
	}
	return r, d.End()
}

// DecodeExtendedCard reads a GetExtendedAgentCardRequest.
func DecodeExtendedCard(params []byte) (tenant string, err error) {
	d := fromClient(params)
	for f := range d.members() {
		if f == fieldTenant {
			tenant = d.tenant()
		}
	}
	return tenant, d.End()
}

type taskParams struct {
	tenant, id    string
	historyLength *int
	metadata      a2a.Object
}

func decodeTaskParams(params []byte) (taskParams, error) {
	p, d := readTaskParams(params)
	d.required("id", p.id != "")
	return p, d.End()
}

func readTaskParams(params []byte) (taskParams, *decoder) {
	d := fromClient(params)
	var p taskParams
	for f := range d.members() {
		switch f {
		case fieldTenant:
			p.tenant = d.tenant()
		case fieldID:
			p.id = d.id()
		case fieldHistoryLength:
			p.historyLength = d.historyLength()
		case fieldMetadata:
			p.metadata = d.Object()
		}
	}
	return p, d
}

// configuration honours an explicit blocking of the release candidate; its
// absence never means the opposite.
func (d *decoder) configuration(s *a2a.SendRequest) {
	for f := range d.members() {
		switch f {
		case fieldAcceptedOutputModes:
			s.AcceptedOutputModes = d.Strings(maxStrings)
		case fieldReturnImmediately:
			s.ReturnImmediately = d.Bool()
		case fieldBlocking:
			s.ReturnImmediately = !d.Bool()
		case fieldHistoryLength:
			s.HistoryLength = d.historyLength()
		case fieldPushConfig:
			s.Push = d.pushConfig()
		}
	}
}

func (d *decoder) historyLength() *int {
	n := d.IntOrText()
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
