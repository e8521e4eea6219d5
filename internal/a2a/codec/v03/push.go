// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
)

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
