// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv03

import (
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// pushDialect is that of what is posted: there is no posting by gRPC.
const pushDialect = a2a.DialectV03

var setPushFields = pbwire.Message{
	1: pbwire.Bytes("parent"),
	2: pbwire.Bytes("configId"),
	3: pbwire.Bytes("config"),
}

// DecodeSetPush reads a CreateTaskPushNotificationConfigRequest. The task and
// the id may stand in any of the places that there are for them, but must be
// the same in all.
func DecodeSetPush(text []byte) (*a2a.SetPushRequest, error) {
	d := newDecoder(text)
	s := &a2a.SetPushRequest{Config: a2a.PushConfig{Dialect: pushDialect}}
	c := &s.Config
	parent, id := "", ""
	for f := range d.Fields(setPushFields) {
		switch f {
		case 1:
			parent = d.parentName()
		case 2:
			id = d.id()
		case 3:
			d.taskPushConfig(c)
		}
	}
	d.agree("parent", parent, c.TaskID)
	d.agree("configId", id, c.ID)
	c.TaskID, c.ID = cmp.Or(parent, c.TaskID), cmp.Or(id, c.ID)
	d.required("parent", c.TaskID != "")
	d.required("config.pushNotificationConfig.url", c.URL != "")
	return s, d.Err()
}

// DecodePush reads a GetTaskPushNotificationConfigRequest or a
// DeleteTaskPushNotificationConfigRequest.
func DecodePush(text []byte) (*a2a.PushRequest, error) {
	d := newDecoder(text)
	p := &a2a.PushRequest{}
	for range d.Fields(getFields[:2]) {
		p.TaskID, p.ID = d.configName()
	}
	d.required("name", p.TaskID != "")
	return p, d.Err()
}

var listPushFields = pbwire.Message{
	1: pbwire.Bytes("parent"),
	2: pbwire.Varint("pageSize"),
	3: pbwire.Bytes("pageToken"),
}

// DecodeListPush reads a ListTaskPushNotificationConfigRequest.
func DecodeListPush(text []byte) (*a2a.ListPushRequest, error) {
	d := newDecoder(text)
	l := &a2a.ListPushRequest{}
	for f := range d.Fields(listPushFields) {
		switch f {
		case 1:
			l.TaskID = d.parentName()
		case 2:
			if l.PageSize = d.Int(); l.PageSize < 0 {
				d.Fail("must not be negative")
			}
		case 3:
			l.PageToken = d.String()
		}
	}
	d.required("parent", l.TaskID != "")
	return l, d.Err()
}

var taskPushFields = pbwire.Message{
	1: pbwire.Bytes("name"),
	2: pbwire.Bytes("pushNotificationConfig"),
}

func (d *decoder) taskPushConfig(c *a2a.PushConfig) {
	name := ""
	for f := range d.Fields(taskPushFields) {
		switch f {
		case 1:
			c.TaskID, name = d.configName()
		case 2:
			d.pushConfig(c)
		}
	}
	d.agree("name", name, c.ID)
	c.ID = cmp.Or(c.ID, name)
}

var pushFields = pbwire.Message{
	1: pbwire.Bytes("id"),
	2: pbwire.Bytes("url"),
	3: pbwire.Bytes("token"),
	4: pbwire.Bytes("authentication"),
}

func (d *decoder) pushConfig(c *a2a.PushConfig) {
	for f := range d.Fields(pushFields) {
		switch f {
		case 1:
			c.ID = d.id()
		case 2:
			c.URL = d.String()
		case 3:
			c.Token = d.String()
		case 4:
			d.authentication(c)
		}
	}
	d.required("url", c.URL != "")
}

var authenticationFields = pbwire.Message{
	1: pbwire.Repeated("schemes"),
	2: pbwire.Bytes("credentials"),
}

// authentication picks the first scheme that can be rendered, or else the
// first.
func (d *decoder) authentication(c *a2a.PushConfig) {
	var schemes []string
	for f := range d.Fields(authenticationFields) {
		switch f {
		case 1:
			schemes = d.Append(schemes, maxStrings)
		case 2:
			c.Credentials = d.String()
		}
	}
	for _, s := range schemes {
		if s == "Bearer" || s == "Basic" {
			c.Scheme = s
			return
		}
	}
	if len(schemes) > 0 {
		c.Scheme = schemes[0]
	}
}

// agree blames a field that contradicts another place for the same thing.
func (d *decoder) agree(name, a, b string) {
	if a != "" && b != "" && a != b {
		d.FailAt(name, "differs from what the config says")
	}
}
