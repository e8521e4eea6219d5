// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// DecodeSend reads MessageSendParams. The message must have a messageId, which the
// schema of 0.2 and 0.3 requires.
func DecodeSend(params []byte) (*a2a.SendRequest, error) {
	d := fromClient(params)
	s := &a2a.SendRequest{}
	misplaced := ""
	for name := range d.Members() {
		switch string(name) {
		case "message":
			s.Message = d.message()
		case "messageId":
			// Documents of 0.2 have it beside the message.
			misplaced = d.id()
		case "configuration":
			d.configuration(s)
		case "metadata":
			s.Metadata = d.Object()
		}
	}
	if s.Message == nil {
		d.FailAt("message", "is required")
		return s, d.End()
	}
	s.Message.ID = cmp.Or(s.Message.ID, misplaced)
	if s.Message.ID == "" {
		d.FailAt("message.messageId", "is required")
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
	d := fromClient(params)
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

// DecodeFollow reads the params with which one project that implements 0.3 calls
// tasks/get to get a stream: they have taskId and no id. isFollow is false for all other
// params.
func DecodeFollow(params []byte) (r *a2a.SubscribeRequest, isFollow bool) {
	d := fromClient(params)
	r = &a2a.SubscribeRequest{}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			return nil, false
		case "taskId":
			r.TaskID = d.id()
		case "historyLength":
			r.HistoryLength = d.historyLength()
		}
	}
	return r, r.TaskID != "" && d.End() == nil
}

// DecodeList reads the params of ListTasks, a method of 1.0, with the states of
// this version. The only client that calls it with this version is the SDK for Go,
// which writes all names in snake_case.
func DecodeList(params []byte) (*a2a.ListRequest, error) {
	d := fromClient(params)
	r := &a2a.ListRequest{}
	for name := range d.Members() {
		switch string(name) {
		case "contextId", "context_id":
			r.ContextID = d.id()
		case "status":
			r.State = d.state()
		case "pageSize", "page_size":
			if r.PageSize = d.Int(); r.PageSize < 1 || r.PageSize > maxPage {
				d.Fail("must be between 1 and 100")
			}
		case "pageToken", "page_token":
			r.PageToken = d.String()
		case "historyLength", "history_length":
			r.HistoryLength = d.historyLength()
		case "statusTimestampAfter", "last_updated_after":
			r.Since = d.time()
		case "includeArtifacts", "include_artifacts":
			r.IncludeArtifacts = d.Bool()
		}
	}
	return r, d.End()
}
