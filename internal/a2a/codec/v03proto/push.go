// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03proto

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// DecodeSetPush reads the body that creates a configuration, in the shapes that
// clients give it: a CreateTaskPushNotificationConfigRequest, its config, or
// the PushNotificationConfig inside that. The task is named by the path; the
// body may name it again.
func DecodeSetPush(body []byte) (*a2a.SetPushRequest, error) {
	d := fromClient(body)
	c := &a2a.PushConfig{Dialect: a2a.DialectV03Proto}
	d.setPush(c)
	if c.URL == "" {
		d.FailAt("url", "is required")
	}
	return &a2a.SetPushRequest{Config: *c}, d.End()
}

func (d *decoder) setPush(c *a2a.PushConfig) {
	for f := range d.members() {
		switch f {
		case fieldParent, fieldName:
			task, config := d.name()
			d.same(&c.TaskID, task, "task")
			d.same(&c.ID, config, "configuration")
		case fieldConfigID, fieldID:
			d.same(&c.ID, d.id(), "configuration")
		case fieldConfig, fieldPushConfig:
			d.setPush(c)
		case fieldURL:
			d.same(&c.URL, d.String(), "address")
		case fieldToken:
			c.Token = d.String()
		case fieldAuthentication:
			d.authentication(c)
		}
	}
}

// same takes a value that may stand in several places, and refuses two.
func (d *decoder) same(have *string, value, what string) {
	if *have != "" && value != "" && *have != value {
		d.Fail("names another " + what + " than the rest of the request")
		return
	}
	if value != "" {
		*have = value
	}
}

func (d *decoder) pushConfig() *a2a.PushConfig {
	c := &a2a.PushConfig{Dialect: a2a.DialectV03Proto}
	for f := range d.members() {
		switch f {
		case fieldID:
			c.ID = d.id()
		case fieldURL:
			c.URL = d.String()
		case fieldToken:
			c.Token = d.String()
		case fieldAuthentication:
			d.authentication(c)
		}
	}
	if c.URL == "" {
		d.FailAt("url", "is required")
	}
	return c
}

// authentication picks the first scheme that can be rendered, or else the
// first.
func (d *decoder) authentication(c *a2a.PushConfig) {
	for f := range d.members() {
		switch f {
		case fieldSchemes:
			schemes := d.Strings(maxStrings)
			for _, s := range schemes {
				if s == "Bearer" || s == "Basic" {
					c.Scheme = s
					break
				}
			}
			if c.Scheme == "" && len(schemes) > 0 {
				c.Scheme = schemes[0]
			}
		case fieldCredentials:
			c.Credentials = d.String()
		}
	}
}

const (
	tasks   = "tasks/"
	configs = "/pushNotificationConfigs"
)

// name reads a resource name: tasks/{task}, with or without what is below it,
// or a bare id.
func (d *decoder) name() (task, config string) {
	task, config = cutName(d.String())
	if len(task) > maxID || len(config) > maxID {
		d.Fail("holds an id that is longer than 256 bytes")
	}
	return task, config
}

func cutName(name string) (task, config string) {
	name = strings.TrimPrefix(name, tasks)
	if task, ok := strings.CutSuffix(name, configs); ok {
		return task, ""
	}
	if i := strings.LastIndex(name, configs+"/"); i >= 0 {
		return name[:i], name[i+len(configs)+1:]
	}
	return name, ""
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"name":`, tasks+c.TaskID+configs+"/"+c.ID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = appendPushConfig(dst, c)
	return append(dst, '}')
}

// AppendPushPage appends a ListTaskPushNotificationConfigResponse.
func AppendPushPage(dst []byte, page *a2a.PushPage) []byte {
	dst = append(dst, `{"configs":[`...)
	for i, c := range page.Configs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendPush(dst, c)
	}
	dst = append(dst, ']')
	dst = jsonwrite.Optional(dst, `,"nextPageToken":`, page.NextPageToken)
	return append(dst, '}')
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
