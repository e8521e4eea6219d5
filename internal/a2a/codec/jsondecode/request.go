// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondecode

import (
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// DecodeSend reads the request to send a message: a SendMessageRequest, MessageSendParams or
// TaskSendParams. From 0.2 on, the message must have an id, which the protocol requires.
func (v *Version) DecodeSend(params []byte) (*a2a.SendRequest, error) {
	if v.dialect == a2a.DialectV01 {
		return v.decodeTaskSend(params)
	}
	d := v.fromClient(params)
	s := &a2a.SendRequest{}
	misplaced := ""
	for f := range d.members() {
		switch f {
		case fieldTenant:
			s.Tenant = d.tenant()
		case fieldMessage:
			s.Message = d.message()
		case fieldMessageID:
			// Requests in the documents of 0.2 have the message id next to the member message.
			if !v.proto {
				misplaced = d.id()
			}
		case fieldConfiguration:
			d.configuration(s)
		case fieldMetadata:
			s.Metadata = d.Object()
		}
	}
	d.required("message", s.Message != nil)
	if s.Message != nil {
		s.Message.ID = cmp.Or(s.Message.ID, misplaced)
		d.required("message.messageId", s.Message.ID != "")
	}
	return s, d.End()
}

// configuration reads a SendMessageConfiguration. It applies the field blocking in every
// version, even in 1.0, because the release candidate of 1.0 had the field. In a version
// whose proto defines the field (Version.Blocking), a missing field means false, because
// the field has no presence. A client of such a version that wants to wait sets blocking,
// or sends no configuration.
func (d *decoder) configuration(s *a2a.SendRequest) {
	s.ReturnImmediately = d.version.Blocking
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
			s.Push = d.sendPush()
		}
	}
}

// DecodeGet reads the request to get a task: a GetTaskRequest or TaskQueryParams.
func (v *Version) DecodeGet(params []byte) (*a2a.GetRequest, error) {
	p, err := v.decodeParams(params, v.taskParams, "id")
	return &a2a.GetRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeCancel reads the request to cancel a task: a CancelTaskRequest or TaskIdParams.
func (v *Version) DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	return v.decodeCancel(params, "id")
}

// DecodeCancelBody reads the HTTP+JSON body of a CancelTaskRequest. The path names the
// task; the body may repeat its id.
func (v *Version) DecodeCancelBody(body []byte) (*a2a.CancelRequest, error) {
	return v.decodeCancel(body)
}

func (v *Version) decodeCancel(params []byte, required ...string) (*a2a.CancelRequest, error) {
	p, err := v.decodeParams(params, v.taskParams, required...)
	return &a2a.CancelRequest{Tenant: p.tenant, TaskID: p.id, Metadata: p.metadata}, err
}

// DecodeSubscribe reads the request to subscribe to a task: a SubscribeToTaskRequest,
// TaskIdParams or TaskQueryParams.
func (v *Version) DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	return v.decodeSubscribe(params, "id")
}

// DecodeSubscribeBody reads the HTTP+JSON body of a subscription. The path names the task;
// the body may repeat its id.
func (v *Version) DecodeSubscribeBody(body []byte) (*a2a.SubscribeRequest, error) {
	return v.decodeSubscribe(body)
}

func (v *Version) decodeSubscribe(params []byte, required ...string) (*a2a.SubscribeRequest, error) {
	p, err := v.decodeParams(params, v.taskParams, required...)
	return &a2a.SubscribeRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeExtendedCard reads a GetExtendedAgentCardRequest.
func (v *Version) DecodeExtendedCard(params []byte) (tenant string, err error) {
	p, err := v.decodeParams(params, setOf(fieldTenant))
	return p.tenant, err
}

// DecodeList reads a ListTasksRequest.
func (v *Version) DecodeList(params []byte) (*a2a.ListRequest, error) {
	d := cmp.Or(v.list, v).fromClient(params)
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
			r.PageSize = d.integer()
			if r.PageSize < 1 || r.PageSize > maxPage {
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

// params has the members of the requests that consist of scalars only.
type params struct {
	// id is the id of a task or, in a request that also has taskID, of a push
	// configuration.
	id, taskID, configID, tenant, pageToken string
	pageSize                                int
	historyLength                           *int
	metadata                                a2a.Object
}

// decodeParams reads the known fields of a request. required names the members with ids
// that must not be empty: id, taskId or pushNotificationConfigId.
func (v *Version) decodeParams(text []byte, known fieldSet, required ...string) (params, error) {
	d := v.fromClient(text)
	p := params{historyLength: v.history}
	for f := range d.members() {
		if !known.has(f) {
			continue
		}
		switch f {
		case fieldTenant:
			p.tenant = d.tenant()
		case fieldID:
			p.id = d.id()
		case fieldName:
			p.id, _ = d.resourceName()
		case fieldTaskID:
			p.taskID = d.id()
		case fieldConfigID:
			p.configID = d.id()
		case fieldHistoryLength:
			p.historyLength = d.historyLength()
		case fieldPageSize:
			p.pageSize = d.integer()
			if p.pageSize < 0 {
				d.Fail("must not be negative")
			}
		case fieldPageToken:
			p.pageToken = d.String()
		case fieldMetadata:
			p.metadata = d.Object()
		}
	}
	for _, name := range required {
		id := p.id
		switch name {
		case "taskId":
			id = p.taskID
		case "pushNotificationConfigId":
			id = p.configID
		}
		d.required(name, id != "")
	}
	return p, d.End()
}

// historyLength reads a number of messages. In a version without presence, 0 means the whole
// history, and the result is nil.
func (d *decoder) historyLength() *int {
	n := d.integer()
	if n < 0 {
		d.Fail("must not be negative")
	}
	if n == 0 && !d.version.Presence {
		return nil
	}
	return &n
}
