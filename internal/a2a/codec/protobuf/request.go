// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"math"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// DecodeSend reads a SendMessageRequest. The message must have an id, which the
// proto requires.
func (v *Version) DecodeSend(text []byte) (*a2a.SendRequest, error) {
	return v.DecodeSendWithin(text, math.MaxInt)
}

// DecodeSendWithin does the same as DecodeSend for a request of at most a number of bytes in JSON.
func (v *Version) DecodeSendWithin(text []byte, maxJSON int) (*a2a.SendRequest, error) {
	d := v.decoder(text)
	d.Bound(maxJSON)
	s := &a2a.SendRequest{}
	for f := range d.Fields(v.send) {
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
	d.required("message.messageId", s.Message == nil || s.Message.ID != "")
	return s, d.Err()
}

// configuration reads a SendMessageConfiguration. In 0.3, its field blocking has no presence,
// so a missing field means false, and the client gets an immediate response. A client that
// wants to wait sets blocking or sends no configuration.
func (d *decoder) configuration(s *a2a.SendRequest) {
	s.ReturnImmediately = d.version.blocking
	for f := range d.Fields(d.version.configuration) {
		switch f {
		case 1:
			s.AcceptedOutputModes = d.Append(s.AcceptedOutputModes, maxStrings)
		case 2:
			s.Push = &a2a.PushConfig{Dialect: d.version.dialect}
			d.push(s.Push)
		case 3:
			s.HistoryLength = d.historyLength()
		case 4:
			s.ReturnImmediately = d.Bool() != d.version.blocking
		}
	}
}

// DecodeGet reads a GetTaskRequest.
func (v *Version) DecodeGet(text []byte) (*a2a.GetRequest, error) {
	p, err := v.decode(text, &v.get)
	return &a2a.GetRequest{Tenant: p.Tenant, TaskID: p.taskID, HistoryLength: p.HistoryLength}, err
}

// DecodeCancel reads a CancelTaskRequest.
func (v *Version) DecodeCancel(text []byte) (*a2a.CancelRequest, error) {
	p, err := v.decode(text, &v.cancel)
	return &a2a.CancelRequest{Tenant: p.Tenant, TaskID: p.taskID, Metadata: p.metadata}, err
}

// DecodeSubscribe reads a SubscribeToTaskRequest.
func (v *Version) DecodeSubscribe(text []byte) (*a2a.SubscribeRequest, error) {
	p, err := v.decode(text, &v.subscribe)
	return &a2a.SubscribeRequest{Tenant: p.Tenant, TaskID: p.taskID}, err
}

// DecodeList reads a ListTasksRequest.
func (v *Version) DecodeList(text []byte) (*a2a.ListRequest, error) {
	p, err := v.decode(text, &v.list)
	return &p.ListRequest, err
}

// DecodePush reads a GetTaskPushNotificationConfigRequest or a
// DeleteTaskPushNotificationConfigRequest.
func (v *Version) DecodePush(text []byte) (*a2a.PushRequest, error) {
	p, err := v.decode(text, &v.pushRequest)
	return &a2a.PushRequest{Tenant: p.Tenant, TaskID: p.taskID, ID: p.configID}, err
}

// DecodeListPush reads a ListTaskPushNotificationConfigsRequest.
func (v *Version) DecodeListPush(text []byte) (*a2a.ListPushRequest, error) {
	p, err := v.decode(text, &v.listPush)
	return &a2a.ListPushRequest{Tenant: p.Tenant, TaskID: p.taskID, PageSize: p.PageSize, PageToken: p.PageToken}, err
}

// DecodeExtendedCard reads a GetExtendedAgentCardRequest, and returns its tenant.
func (v *Version) DecodeExtendedCard(text []byte) (tenant string, err error) {
	p, err := v.decode(text, &v.card)
	return p.Tenant, err
}

// scalars has the values of the fields of all requests that have only scalar fields.
type scalars struct {
	a2a.ListRequest
	taskID, configID string
	metadata         a2a.Object
}

func (v *Version) decode(text []byte, r *request) (scalars, error) {
	d := v.decoder(text)
	var p scalars
	for f := range d.Fields(r.fields) {
		switch f {
		case fieldTenant:
			p.Tenant = d.tenant()
		case fieldTask:
			p.taskID = d.id()
		case fieldTaskName:
			p.taskID = d.taskName()
		case fieldConfigName:
			p.taskID, p.configID = d.configName()
		case fieldParentName:
			p.taskID = d.parentName()
		case fieldConfigID:
			p.configID = d.id()
		case fieldHistoryLength:
			p.HistoryLength = d.historyLength()
		case fieldMetadata:
			p.metadata = d.Object()
		case fieldPageSize:
			p.PageSize = d.count()
		case fieldPageToken:
			p.PageToken = d.String()
		default:
			d.listField(&p.ListRequest, f)
		}
	}
	d.required(r.task, r.task == "" || p.taskID != "")
	d.required(r.config, r.config == "" || p.configID != "")
	return p, d.Err()
}

// listField reads a field that occurs only in a ListTasksRequest.
func (d *decoder) listField(l *a2a.ListRequest, f int) {
	switch f {
	case fieldContextID:
		l.ContextID = d.id()
	case fieldStatus:
		l.State = d.state()
	case fieldListSize:
		// The official Go client sends 0 if its caller has set no page size.
		l.PageSize = d.Int()
		if l.PageSize < 0 || l.PageSize > 100 {
			d.Fail("must be between 1 and 100")
		}
	case fieldSince:
		l.Since = d.Time()
	case fieldIncludeArtifacts:
		l.IncludeArtifacts = d.Bool()
	}
}
