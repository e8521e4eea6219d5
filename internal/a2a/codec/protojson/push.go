// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"cmp"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// DecodeSetPush reads a TaskPushNotificationConfig that a client creates.
func (v *Version) DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	r, d := v.readSetPush(params)
	d.required("taskId", r.Config.TaskID != "")
	d.required("url", r.Config.URL != "")
	return r, d.End()
}

// DecodeSetPushBody reads the HTTP+JSON body that creates a push configuration. In 1.0 it
// is a TaskPushNotificationConfig. In 0.3 it is a CreateTaskPushNotificationConfigRequest,
// its config, or the PushNotificationConfig in its config. The path names the task; the
// body may repeat its id.
func (v *Version) DecodeSetPushBody(body []byte) (*a2a.SetPushRequest, error) {
	r, d := v.readSetPush(body)
	d.required("url", r.Config.URL != "")
	return r, d.End()
}

func (v *Version) readSetPush(params []byte) (*a2a.SetPushRequest, *decoder) {
	d := v.fromClient(params)
	r := &a2a.SetPushRequest{Config: a2a.PushConfig{Dialect: v.dialect}}
	r.Tenant = d.pushMembers(&r.Config, v.setPush)
	return r, d
}

// sendPush reads the push configuration of a message.
func (d *decoder) sendPush() *a2a.PushConfig {
	c := &a2a.PushConfig{Dialect: d.version.dialect}
	d.pushMembers(c, d.version.sendPush)
	d.required("url", c.URL != "")
	return c
}

func (d *decoder) pushMembers(c *a2a.PushConfig, known fieldSet) (tenant string) {
	for f := range d.members() {
		if !known.has(f) {
			continue
		}
		switch f {
		case fieldTenant:
			tenant = d.tenant()
		case fieldParent, fieldName:
			task, config := d.resourceName()
			d.set(&c.TaskID, task, "task")
			d.set(&c.ID, config, "configuration")
		case fieldID, fieldConfigID:
			d.set(&c.ID, d.id(), "configuration")
		case fieldTaskID:
			c.TaskID = d.id()
		case fieldURL:
			d.set(&c.URL, d.String(), "URL")
		case fieldToken:
			c.Token = d.String()
		case fieldAuthentication:
			d.authentication(c)
		case fieldConfig, fieldPushConfig:
			d.pushMembers(c, known)
		}
	}
	return tenant
}

// set stores in have a value that a request may contain in several places. A version with
// resource names refuses two different values. In other versions, the last value replaces
// earlier ones.
func (d *decoder) set(have *string, value, what string) {
	if d.version.resourceNames {
		if *have != "" && value != "" && *have != value {
			d.Fail("differs from the " + what + " elsewhere in the request")
			return
		}
		if value == "" {
			return
		}
	}
	*have = value
}

// authentication reads an AuthenticationInfo. If it has several schemes, authentication
// uses scalar.PreferredScheme. A scheme in the field of 1.0 has precedence over the list, in
// any order of the two fields.
func (d *decoder) authentication(c *a2a.PushConfig) {
	scheme, preferred := "", ""
	for f := range d.members() {
		switch f {
		case fieldScheme:
			scheme = d.String()
		case fieldSchemes:
			preferred = scalar.PreferredScheme(d.Strings(maxStrings))
		case fieldCredentials:
			c.Credentials = d.String()
		}
	}
	c.Scheme = cmp.Or(scheme, preferred)
}

const (
	tasks   = "tasks/"
	configs = "/pushNotificationConfigs"
)

// resourceName reads the name tasks/{task}, with or without a configuration below it, or a
// bare task id.
func (d *decoder) resourceName() (task, config string) {
	task, config = cutName(d.String())
	if len(task) > maxID || len(config) > maxID {
		d.Fail("has an id of more than 256 bytes")
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
func (v *Version) AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	if !v.resourceNames {
		return v.appendPushConfig(dst, c)
	}
	dst = jsonwrite.Member(dst, `{"name":`, tasks+c.TaskID+configs+"/"+c.ID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = v.appendPushConfig(dst, c)
	return append(dst, '}')
}

// AppendPushPage appends the response to a request for push configurations.
func (v *Version) AppendPushPage(dst []byte, page *a2a.PushPage) []byte {
	dst = jsonwrite.Array(append(dst, `{"configs":`...), page.Configs, v.AppendPush)
	dst = jsonwrite.Optional(dst, `,"nextPageToken":`, page.NextPageToken)
	return append(dst, '}')
}

func (v *Version) appendPushConfig(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"id":`, c.ID)
	if !v.resourceNames {
		dst = jsonwrite.Optional(dst, `,"taskId":`, c.TaskID)
	}
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, v.schemeBefore, c.Scheme)
		dst = append(dst, v.schemeAfter...)
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
