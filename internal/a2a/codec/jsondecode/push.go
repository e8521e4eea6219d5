// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondecode

import (
	"cmp"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// DecodeSetPush reads a TaskPushNotificationConfig that a client creates.
func (v *Version) DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	if !v.proto {
		return v.decodeNestedPush(params)
	}
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

// decodeNestedPush reads a TaskPushNotificationConfig of 0.1 to 0.3, which contains the
// configuration in a member.
func (v *Version) decodeNestedPush(params []byte) (*a2a.SetPushRequest, error) {
	d := v.fromClient(params)
	var config *a2a.PushConfig
	task := ""
	for f := range d.members() {
		switch f {
		case v.fields[v.setPushTask]:
			task = d.id()
		case fieldPushConfig:
			config = d.sendPush()
		}
	}
	d.required(v.setPushTask, task != "")
	d.required("pushNotificationConfig", config != nil)
	if config == nil {
		config = &a2a.PushConfig{}
	}
	config.TaskID = task
	return &a2a.SetPushRequest{Config: *config}, d.End()
}

// DecodeGetPush reads the request for a push configuration. Before 1.0, the request need not
// name the configuration.
func (v *Version) DecodeGetPush(params []byte) (*a2a.PushRequest, error) {
	if !v.proto {
		return v.decodePush(params, v.pushIDs[:1])
	}
	return v.decodePush(params, v.pushIDs)
}

// DecodeDeletePush reads the request to delete a push configuration.
func (v *Version) DecodeDeletePush(params []byte) (*a2a.PushRequest, error) {
	return v.decodePush(params, v.pushIDs)
}

func (v *Version) decodePush(params []byte, required []string) (*a2a.PushRequest, error) {
	p, err := v.decodeParams(params, v.pushParams, required...)
	if !v.proto { // the id is the id of the task
		return &a2a.PushRequest{TaskID: p.id, ID: p.configID}, err
	}
	return &a2a.PushRequest{Tenant: p.tenant, TaskID: p.taskID, ID: p.id}, err
}

// DecodeListPush reads the request for the push configurations of a task.
func (v *Version) DecodeListPush(params []byte) (*a2a.ListPushRequest, error) {
	p, err := v.decodeParams(params, v.listPushParams, v.pushIDs[0])
	return &a2a.ListPushRequest{
		Tenant: p.tenant, TaskID: cmp.Or(p.taskID, p.id), PageSize: p.pageSize, PageToken: p.pageToken,
	}, err
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

// set stores value in have. A request may contain the value in several places. If two
// places contain different values, a version with resource names refuses the request. In
// other versions, the last value replaces earlier ones.
func (d *decoder) set(have *string, value, what string) {
	if d.version.ResourceNames {
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
	scheme := ""
	preferred := ""
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
