// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// DecodeSetPush reads the request that creates a push configuration.
func (v *Version) DecodeSetPush(text []byte) (*a2a.SetPushRequest, error) {
	d := v.decoder(text)
	r := &a2a.SetPushRequest{Config: a2a.PushConfig{Dialect: v.dialect}}
	if v.resourceNames {
		d.createPush(&r.Config)
	} else {
		r.Tenant = d.push(&r.Config)
		d.required("taskId", r.Config.TaskID != "")
	}
	return r, d.Err()
}

var (
	setPushFields = pbwire.Message{
		1: pbwire.Bytes("parent"),
		2: pbwire.Bytes("configId"),
		3: pbwire.Bytes("config"),
	}
	taskPushFields = pbwire.Message{
		1: pbwire.Bytes("name"),
		2: pbwire.Bytes("pushNotificationConfig"),
	}
)

// createPush reads a CreateTaskPushNotificationConfigRequest. The request may have the ids
// of the task and of the configuration in several places. createPush fails if they differ.
func (d *decoder) createPush(c *a2a.PushConfig) {
	parent := ""
	id := ""
	for f := range d.Fields(setPushFields) {
		switch f {
		case 1:
			parent = d.parentName()
		case 2:
			id = d.id()
		case 3:
			d.taskPush(c)
		}
	}
	d.agree("parent", parent, c.TaskID)
	d.agree("configId", id, c.ID)
	c.TaskID = cmp.Or(parent, c.TaskID)
	c.ID = cmp.Or(id, c.ID)
	d.required("parent", c.TaskID != "")
	d.required("config.pushNotificationConfig.url", c.URL != "")
}

func (d *decoder) taskPush(c *a2a.PushConfig) {
	name := ""
	for f := range d.Fields(taskPushFields) {
		switch f {
		case 1:
			c.TaskID, name = d.configName()
		case 2:
			d.push(c)
		}
	}
	d.agree("name", name, c.ID)
	c.ID = cmp.Or(c.ID, name)
}

// agree fails if the ids a and b, from two places of a request, differ and neither is empty.
func (d *decoder) agree(name, a, b string) {
	if a != "" && b != "" && a != b {
		d.FailAt(name, "differs from the value in config")
	}
}

// push reads a push configuration, which must have a URL.
func (d *decoder) push(c *a2a.PushConfig) (tenant string) {
	for f := range d.Fields(d.version.pushConfig) {
		switch f {
		case fieldTenant:
			tenant = d.tenant()
		case fieldConfigID:
			c.ID = d.id()
		case fieldTask:
			c.TaskID = d.id()
		case fieldURL:
			c.URL = d.String()
		case fieldToken:
			c.Token = d.String()
		case fieldAuthentication:
			d.authentication(c)
		}
	}
	d.required("url", c.URL != "")
	return tenant
}

// authentication reads an AuthenticationInfo. If it has several schemes, authentication
// uses scalar.PreferredScheme.
func (d *decoder) authentication(c *a2a.PushConfig) {
	var schemes []string
	for f := range d.Fields(d.version.authentication) {
		switch f {
		case fieldScheme:
			c.Scheme = d.String()
		case fieldSchemes:
			schemes = d.Append(schemes, maxStrings)
		case fieldCredentials:
			c.Credentials = d.String()
		}
	}
	c.Scheme = cmp.Or(scalar.PreferredScheme(schemes), c.Scheme)
}

// AppendPush appends the content of a TaskPushNotificationConfig.
func (v *Version) AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	if !v.resourceNames {
		return v.appendPushConfig(dst, c)
	}
	dst = pbwire.AppendString(dst, 1, resourceName(c.TaskID, c.ID))
	dst, at := pbwire.Begin(dst, 2)
	return pbwire.End(v.appendPushConfig(dst, c), at)
}

func (v *Version) appendPushConfig(dst []byte, c *a2a.PushConfig) []byte {
	dst = pbwire.AppendString(dst, v.push.id, c.ID)
	if v.push.taskID != 0 {
		dst = pbwire.AppendString(dst, v.push.taskID, c.TaskID)
	}
	dst = pbwire.AppendString(dst, v.push.url, c.URL)
	dst = pbwire.AppendString(dst, v.push.token, c.Token)
	if c.Scheme == "" && c.Credentials == "" {
		return dst
	}
	dst, at := pbwire.Begin(dst, v.push.authentication)
	dst = pbwire.AppendString(dst, 1, c.Scheme)
	dst = pbwire.AppendString(dst, 2, c.Credentials)
	return pbwire.End(dst, at)
}

// AppendPushPage appends the content of a ListTaskPushNotificationConfigsResponse.
func (v *Version) AppendPushPage(dst []byte, p *a2a.PushPage) []byte {
	for _, c := range p.Configs {
		inner, at := pbwire.Begin(dst, 1)
		dst = pbwire.End(v.AppendPush(inner, c), at)
	}
	return pbwire.AppendString(dst, 2, p.NextPageToken)
}
