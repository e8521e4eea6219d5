// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// DecodeSend reads a SendMessageRequest. The message must have an id, which the
// proto requires.
func (v *Version) DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := v.fromClient(params)
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
	d.required("message.messageId", s.Message == nil || s.Message.ID != "")
	return s, d.End()
}

// configuration reads a SendMessageConfiguration. An explicit blocking has an effect in
// every version, even in 1.0, whose release candidate had the field. In a version
// that defines the field, a missing blocking means false, because the field has no presence.
// A client of such a version that wants to block sends no configuration, or sets blocking.
func (d *decoder) configuration(s *a2a.SendRequest) {
	s.ReturnImmediately = d.version.blocking
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

// DecodeGet reads a GetTaskRequest.
func (v *Version) DecodeGet(params []byte) (*a2a.GetRequest, error) {
	p, err := v.decodeParams(params, v.taskParams, "id")
	return &a2a.GetRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeCancel reads a CancelTaskRequest.
func (v *Version) DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	p, err := v.decodeParams(params, v.taskParams, "id")
	return &a2a.CancelRequest{Tenant: p.tenant, TaskID: p.id, Metadata: p.metadata}, err
}

// DecodeCancelBody reads the HTTP+JSON body of a CancelTaskRequest. The path names the
// task; the body may repeat its id.
func (v *Version) DecodeCancelBody(body []byte) (*a2a.CancelRequest, error) {
	p, err := v.decodeParams(body, v.taskParams)
	return &a2a.CancelRequest{Tenant: p.tenant, TaskID: p.id, Metadata: p.metadata}, err
}

// DecodeSubscribe reads a SubscribeToTaskRequest.
func (v *Version) DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	p, err := v.decodeParams(params, v.taskParams, "id")
	return &a2a.SubscribeRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeSubscribeBody reads the HTTP+JSON body of a subscription. The path names the task;
// the body may repeat its id.
func (v *Version) DecodeSubscribeBody(body []byte) (*a2a.SubscribeRequest, error) {
	p, err := v.decodeParams(body, v.taskParams)
	return &a2a.SubscribeRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, err
}

// DecodeExtendedCard reads a GetExtendedAgentCardRequest.
func (v *Version) DecodeExtendedCard(params []byte) (tenant string, err error) {
	p, err := v.decodeParams(params, setOf(fieldTenant))
	return p.tenant, err
}

// DecodePush reads a GetTaskPushNotificationConfigRequest or a
// DeleteTaskPushNotificationConfigRequest.
func (v *Version) DecodePush(params []byte) (*a2a.PushRequest, error) {
	p, err := v.decodeParams(params, setOf(fieldTenant, fieldTaskID, fieldID), "taskId", "id")
	return &a2a.PushRequest{Tenant: p.tenant, TaskID: p.taskID, ID: p.id}, err
}

// DecodeListPush reads a ListTaskPushNotificationConfigsRequest.
func (v *Version) DecodeListPush(params []byte) (*a2a.ListPushRequest, error) {
	p, err := v.decodeParams(params, setOf(fieldTenant, fieldTaskID, fieldPageSize, fieldPageToken), "taskId")
	return &a2a.ListPushRequest{Tenant: p.tenant, TaskID: p.taskID, PageSize: p.pageSize, PageToken: p.pageToken}, err
}

// DecodeList reads a ListTasksRequest.
func (v *Version) DecodeList(params []byte) (*a2a.ListRequest, error) {
	d := v.fromClient(params)
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

// params has the members of the requests that consist of scalars only.
type params struct {
	// id is the id of a task or, in a request that also has taskID, of a push
	// configuration.
	id, taskID, tenant, pageToken string
	pageSize                      int
	historyLength                 *int
	metadata                      a2a.Object
}

// decodeParams reads the known fields of a request. required names the members, out of id
// and taskId, that must not be empty.
func (v *Version) decodeParams(text []byte, known fieldSet, required ...string) (params, error) {
	d := v.fromClient(text)
	var p params
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
		case fieldHistoryLength:
			p.historyLength = d.historyLength()
		case fieldPageSize:
			if p.pageSize = d.IntOrText(); p.pageSize < 0 {
				d.Fail("must not be negative")
			}
		case fieldPageToken:
			p.pageToken = d.String()
		case fieldMetadata:
			p.metadata = d.Object()
		}
	}
	for _, name := range required {
		d.required(name, p.id != "" && name == "id" || p.taskID != "" && name == "taskId")
	}
	return p, d.End()
}

// historyLength reads a number of messages. In a version without presence, 0 means the whole
// history, and the result is nil.
func (d *decoder) historyLength() *int {
	n := d.IntOrText()
	if n < 0 {
		d.Fail("must not be negative")
	}
	if n == 0 && !d.version.presence {
		return nil
	}
	return &n
}

// AppendSend appends a SendMessageRequest, for a server of this version.
func (v *Version) AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = v.AppendMessage(dst, r.Message)
	if v.blocking {
		dst = jsonwrite.Bool(dst, `,"configuration":{"blocking":`, !r.ReturnImmediately)
	} else {
		dst = jsonwrite.Bool(dst, `,"configuration":{"returnImmediately":`, r.ReturnImmediately)
	}
	dst = jsonwrite.Strings(dst, `,"acceptedOutputModes":`, r.AcceptedOutputModes)
	dst = v.appendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, v.pushMember...)
		dst = v.appendPushConfig(dst, r.Push)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return v.endRequest(dst, r.Tenant)
}

// AppendGet appends a GetTaskRequest.
func (v *Version) AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = v.appendHistoryLength(dst, r.HistoryLength)
	return v.endRequest(dst, r.Tenant)
}

// AppendCancel appends a CancelTaskRequest.
func (v *Version) AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return v.endRequest(dst, r.Tenant)
}

// AppendSubscribe appends a SubscribeToTaskRequest.
func (v *Version) AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	return v.endRequest(jsonwrite.Member(dst, `{"id":`, r.TaskID), r.Tenant)
}

// appendHistoryLength appends the member historyLength, unless n is nil. In a version
// without presence, it also omits a length of 0: there, 0 and an absent member both mean the
// whole history.
func (v *Version) appendHistoryLength(dst []byte, n *int) []byte {
	if n == nil || *n <= 0 && !v.presence {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}

func (v *Version) endRequest(dst []byte, tenant string) []byte {
	if v.tenant {
		dst = jsonwrite.Optional(dst, `,"tenant":`, tenant)
	}
	return append(dst, '}')
}
