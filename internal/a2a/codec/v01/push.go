// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// DecodeSetPush reads a TaskPushNotificationConfig. It has no id, because a task
// has one configuration.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	d := fromClient(params)
	var config *a2a.PushConfig
	task := ""
	for name := range d.Members() {
		switch string(name) {
		case "id":
			task = d.id()
		case "pushNotificationConfig":
			config = d.pushConfig()
		}
	}
	if task == "" {
		d.FailAt("id", "is required")
	}
	if config == nil {
		d.FailAt("pushNotificationConfig", "is required")
		config = &a2a.PushConfig{}
	}
	config.TaskID = task
	return &a2a.SetPushRequest{Config: *config}, d.End()
}

// DecodeGetPush reads TaskIdParams.
func DecodeGetPush(params []byte) (*a2a.PushRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.PushRequest{TaskID: p.id}, err
}

func (d *decoder) pushConfig() *a2a.PushConfig {
	c := &a2a.PushConfig{Dialect: a2a.DialectV01}
	for name := range d.Members() {
		switch string(name) {
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
	dst = jsonwrite.Member(dst, `{"id":`, c.TaskID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = appendPushConfig(dst, c)
	return append(dst, '}')
}

func appendPushConfig(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, `,"authentication":{"schemes":[`, c.Scheme)
		dst = append(dst, ']')
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
