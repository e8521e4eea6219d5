// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// DecodeSetPush reads a TaskPushNotificationConfig.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	d := fromClient(params)
	var config *a2a.PushConfig
	task := ""
	for name := range d.Members() {
		switch string(name) {
		case "taskId":
			task = d.id()
		case "pushNotificationConfig":
			config = d.pushConfig()
		}
	}
	if task == "" {
		d.FailAt("taskId", "is required")
	}
	if config == nil {
		d.FailAt("pushNotificationConfig", "is required")
		config = &a2a.PushConfig{}
	}
	config.TaskID = task
	return &a2a.SetPushRequest{Config: *config}, d.End()
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
			r.TaskID = d.id()
		case "pushNotificationConfigId":
			r.ID = d.id()
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
	return &a2a.ListPushRequest{TaskID: p.id}, err
}

func (d *decoder) pushConfig() *a2a.PushConfig {
	c := &a2a.PushConfig{Dialect: a2a.DialectV03}
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

// authentication reads an AuthenticationInfo. Of several schemes it takes the
// first that is Bearer or Basic, else the first.
func (d *decoder) authentication(c *a2a.PushConfig) {
	for name := range d.Members() {
		switch string(name) {
		case "schemes":
			schemes := d.Strings(maxStrings)
			for _, s := range schemes {
				if strings.EqualFold(s, "Bearer") || strings.EqualFold(s, "Basic") {
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

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"taskId":`, c.TaskID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = appendPushConfig(dst, c)
	return append(dst, '}')
}

// AppendPushPage appends an array of TaskPushNotificationConfig. This version has
// no pages.
func AppendPushPage(dst []byte, page *a2a.PushPage) []byte {
	dst = append(dst, '[')
	for i, c := range page.Configs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendPush(dst, c)
	}
	return append(dst, ']')
}

func appendPushConfig(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"id":`, c.ID)
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, `,"authentication":{"schemes":[`, c.Scheme)
		dst = append(dst, ']')
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
