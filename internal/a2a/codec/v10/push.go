// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v10

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// DecodeSetPush reads a TaskPushNotificationConfig that is to be created.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	r, d := readSetPush(params)
	d.required("taskId", r.Config.TaskID != "")
	d.required("url", r.Config.URL != "")
	return r, d.End()
}

func readSetPush(params []byte) (*a2a.SetPushRequest, *decoder) {
	d := fromClient(params)
	r := &a2a.SetPushRequest{Config: a2a.PushConfig{Dialect: a2a.DialectV10}}
	r.Tenant = d.pushMembers(&r.Config)
	return r, d
}

// DecodePush reads a GetTaskPushNotificationConfigRequest or a
// DeleteTaskPushNotificationConfigRequest.
func DecodePush(params []byte) (*a2a.PushRequest, error) {
	d := fromClient(params)
	r := &a2a.PushRequest{}
	for f := range d.members() {
		switch f {
		case fieldTenant:
			r.Tenant = d.tenant()
		case fieldTaskID:
			r.TaskID = d.id()
		case fieldID:
			r.ID = d.id()
		}
	}
	d.required("taskId", r.TaskID != "")
	d.required("id", r.ID != "")
	return r, d.End()
}

// DecodeListPush reads a ListTaskPushNotificationConfigsRequest.
func DecodeListPush(params []byte) (*a2a.ListPushRequest, error) {
	d := fromClient(params)
	r := &a2a.ListPushRequest{}
	for f := range d.members() {
		switch f {
		case fieldTenant:
			r.Tenant = d.tenant()
		case fieldTaskID:
			r.TaskID = d.id()
		case fieldPageSize:
			if r.PageSize = d.IntOrText(); r.PageSize < 0 {
				d.Fail("must not be negative")
			}
		case fieldPageToken:
			r.PageToken = d.String()
		}
	}
	d.required("taskId", r.TaskID != "")
	return r, d.End()
}

// pushConfig reads a TaskPushNotificationConfig, and the nested form of the
// release candidate.
func (d *decoder) pushConfig() *a2a.PushConfig {
	c := &a2a.PushConfig{Dialect: a2a.DialectV10}
	d.pushMembers(c)
	d.required("url", c.URL != "")
	return c
}

func (d *decoder) pushMembers(c *a2a.PushConfig) (tenant string) {
	for f := range d.members() {
		switch f {
		case fieldTenant:
			tenant = d.tenant()
		case fieldID, fieldConfigID:
			c.ID = d.id()
		case fieldTaskID:
			c.TaskID = d.id()
		case fieldURL:
			c.URL = d.String()
		case fieldToken:
			c.Token = d.String()
		case fieldAuthentication:
			d.authentication(c)
		case fieldPushConfig:
			d.pushMembers(c)
		}
	}
	return tenant
}

func (d *decoder) authentication(c *a2a.PushConfig) {
	for f := range d.members() {
		switch f {
		case fieldScheme:
			c.Scheme = d.String()
		case fieldSchemes:
			if schemes := d.Strings(maxStrings); c.Scheme == "" && len(schemes) > 0 {
				c.Scheme = schemes[0]
			}
		case fieldCredentials:
			c.Credentials = d.String()
		}
	}
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"id":`, c.ID)
	dst = jsonwrite.Optional(dst, `,"taskId":`, c.TaskID)
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, `,"authentication":{"scheme":`, c.Scheme)
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// AppendPushPage appends a ListTaskPushNotificationConfigsResponse.
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
