// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
)

// AppendSend appends MessageSendParams, for a server of this version.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = AppendMessage(dst, r.Message)
	// Up to 0.2.5, a configuration must have acceptedOutputModes.
	dst = jsonwrite.Array(append(dst, `,"configuration":{"acceptedOutputModes":`...), r.AcceptedOutputModes, jsonwrite.String)
	dst = jsonwrite.Bool(dst, `,"blocking":`, !r.ReturnImmediately)
	dst = legacyjson.AppendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"pushNotificationConfig":`...)
		dst = legacyjson.AppendPushConfig(dst, r.Push, r.Push.ID)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte { return legacyjson.AppendGet(dst, r) }

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte { return legacyjson.AppendCancel(dst, r) }

// AppendSubscribe appends TaskIdParams.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	return append(dst, '}')
}

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
			// Requests in the documents of 0.2 have the message id next to the member message.
			misplaced = d.ID()
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
	return legacyjson.Get(decodeTaskParams(params))
}

// DecodeCancel reads TaskIdParams.
func DecodeCancel(params []byte) (*a2a.CancelRequest, error) {
	return legacyjson.Cancel(decodeTaskParams(params))
}

// DecodeSubscribe reads TaskIdParams.
func DecodeSubscribe(params []byte) (*a2a.SubscribeRequest, error) {
	return legacyjson.Subscribe(decodeTaskParams(params))
}

func decodeTaskParams(params []byte) (legacyjson.TaskParams, error) {
	return fromClient(params).TaskParams(nil)
}

func (d *decoder) configuration(s *a2a.SendRequest) {
	for name := range d.Members() {
		switch string(name) {
		case "acceptedOutputModes":
			s.AcceptedOutputModes = d.Strings(legacyjson.MaxStrings)
		case "blocking":
			s.ReturnImmediately = !d.Bool()
		case "historyLength":
			s.HistoryLength = d.HistoryLength()
		case "pushNotificationConfig":
			s.Push = d.PushConfig(a2a.DialectV03)
		}
	}
}

// DecodeFollow reads the params with which one project that implements 0.3 calls tasks/get
// to request a stream. Such params have taskId and no id. For all other params, isFollow is
// false.
func DecodeFollow(params []byte) (r *a2a.SubscribeRequest, isFollow bool) {
	d := fromClient(params)
	r = &a2a.SubscribeRequest{}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			return nil, false
		case "taskId":
			r.TaskID = d.ID()
		case "historyLength":
			r.HistoryLength = d.HistoryLength()
		}
	}
	return r, r.TaskID != "" && d.End() == nil
}

// DecodeList reads the params of ListTasks, a method of 1.0, with the states of this
// version. The SDK for Go is the only client that calls the method in this version. It
// writes all names in snake_case.
func DecodeList(params []byte) (*a2a.ListRequest, error) {
	d := fromClient(params)
	r := &a2a.ListRequest{}
	for name := range d.Members() {
		switch string(name) {
		case "contextId", "context_id":
			r.ContextID = d.ID()
		case "status":
			r.State = d.State()
		case "pageSize", "page_size":
			if r.PageSize = d.Int(); r.PageSize < 1 || r.PageSize > maxPage {
				d.Fail("must be between 1 and 100")
			}
		case "pageToken", "page_token":
			r.PageToken = d.String()
		case "historyLength", "history_length":
			r.HistoryLength = d.HistoryLength()
		case "statusTimestampAfter", "last_updated_after":
			r.Since = d.Time()
		case "includeArtifacts", "include_artifacts":
			r.IncludeArtifacts = d.Bool()
		}
	}
	return r, d.End()
}

// DecodeSetPush reads a TaskPushNotificationConfig.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	return fromClient(params).SetPush(a2a.DialectV03, "taskId")
}

// DecodeGetPush reads GetTaskPushNotificationConfigParams, or TaskIdParams.
func DecodeGetPush(params []byte) (*a2a.PushRequest, error) {
	r, d := decodePush(params)
	return r, d.End()
}

// DecodeDeletePush reads DeleteTaskPushNotificationConfigParams.
func DecodeDeletePush(params []byte) (*a2a.PushRequest, error) {
	r, d := decodePush(params)
	if r.ID == "" {
		d.FailAt("pushNotificationConfigId", "is required")
	}
	return r, d.End()
}

func decodePush(params []byte) (*a2a.PushRequest, *decoder) {
	d := fromClient(params)
	r := &a2a.PushRequest{}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			r.TaskID = d.ID()
		case "pushNotificationConfigId":
			r.ID = d.ID()
		}
	}
	if r.TaskID == "" {
		d.FailAt("id", "is required")
	}
	return r, d
}

// DecodeListPush reads ListTaskPushNotificationConfigParams.
func DecodeListPush(params []byte) (*a2a.ListPushRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.ListPushRequest{TaskID: p.ID}, err
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	return legacyjson.AppendPush(dst, `{"taskId":`, c, c.ID)
}

// AppendPushPage appends an array of TaskPushNotificationConfig, because this version has
// no pages.
func AppendPushPage(dst []byte, page *a2a.PushPage) []byte {
	return jsonwrite.Array(dst, page.Configs, AppendPush)
}
