// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv10

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// pushDialect is that of what is posted: there is no posting by gRPC.
const pushDialect = a2a.DialectV10

// DecodeSetPush reads a TaskPushNotificationConfig that is to be created.
func DecodeSetPush(text []byte) (*a2a.SetPushRequest, error) {
	d := newDecoder(text)
	c, tenant := d.pushConfig()
	d.required("taskId", c.TaskID != "")
	return &a2a.SetPushRequest{Tenant: tenant, Config: *c}, d.Err()
}

var pushRequestFields = pbwire.Message{
	1: pbwire.Bytes("tenant"),
	2: pbwire.Bytes("taskId"),
	3: pbwire.Bytes("id"),
}

// DecodePush reads a GetTaskPushNotificationConfigRequest or a
// DeleteTaskPushNotificationConfigRequest.
func DecodePush(text []byte) (*a2a.PushRequest, error) {
	d := newDecoder(text)
	p := &a2a.PushRequest{}
	for f := range d.Fields(pushRequestFields) {
		switch f {
		case 1:
			p.Tenant = d.tenant()
		case 2:
			p.TaskID = d.id()
		case 3:
			p.ID = d.id()
		}
	}
	d.required("taskId", p.TaskID != "")
	d.required("id", p.ID != "")
	return p, d.Err()
}

var listPushFields = pbwire.Message{
	1: pbwire.Bytes("taskId"),
	2: pbwire.Varint("pageSize"),
	3: pbwire.Bytes("pageToken"),
	4: pbwire.Bytes("tenant"),
}

// DecodeListPush reads a ListTaskPushNotificationConfigsRequest.
func DecodeListPush(text []byte) (*a2a.ListPushRequest, error) {
	d := newDecoder(text)
	l := &a2a.ListPushRequest{}
	for f := range d.Fields(listPushFields) {
		switch f {
		case 1:
			l.TaskID = d.id()
		case 2:
			l.PageSize = *d.length()
		case 3:
			l.PageToken = d.String()
		case 4:
			l.Tenant = d.tenant()
		}
	}
	d.required("taskId", l.TaskID != "")
	return l, d.Err()
}

var pushConfigFields = pbwire.Message{
	1: pbwire.Bytes("tenant"),
	2: pbwire.Bytes("id"),
	3: pbwire.Bytes("taskId"),
	4: pbwire.Bytes("url"),
	5: pbwire.Bytes("token"),
	6: pbwire.Bytes("authentication"),
}

func (d *decoder) pushConfig() (c *a2a.PushConfig, tenant string) {
	c = &a2a.PushConfig{Dialect: pushDialect}
	for f := range d.Fields(pushConfigFields) {
		switch f {
		case 1:
			tenant = d.tenant()
		case 2:
			c.ID = d.id()
		case 3:
			c.TaskID = d.id()
		case 4:
			c.URL = d.String()
		case 5:
			c.Token = d.String()
		case 6:
			d.authentication(c)
		}
	}
	d.required("url", c.URL != "")
	return c, tenant
}

var authenticationFields = pbwire.Message{
	1: pbwire.Bytes("scheme"),
	2: pbwire.Bytes("credentials"),
}

func (d *decoder) authentication(c *a2a.PushConfig) {
	for f := range d.Fields(authenticationFields) {
		switch f {
		case 1:
			c.Scheme = d.String()
		case 2:
			c.Credentials = d.String()
		}
	}
}
