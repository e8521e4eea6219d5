// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// decoder reads requests.
type decoder struct {
	pbwire.Reader
	version *Version
}

func (v *Version) decoder(text []byte) *decoder {
	return &decoder{Reader: *pbwire.New(text), version: v}
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	for f := range d.Fields(d.version.message) {
		switch f {
		case 1:
			m.ID = d.id()
		case 2:
			m.ContextID = d.id()
		case 3:
			m.TaskID = d.id()
		case 4:
			m.Role = d.role()
		case 5:
			if !d.Within(maxParts) {
				m.Parts = nil
				continue
			}
			m.Parts = append(m.Parts, d.version.decodePart(&d.Reader))
		case 6:
			m.Metadata = d.Object()
		case 7:
			m.Extensions = d.Append(m.Extensions, maxStrings)
		case 8:
			m.ReferenceTasks = d.Append(m.ReferenceTasks, maxStrings)
		}
	}
	if d.version.roleRequired {
		d.required("messageId", m.ID != "")
		d.required("role", m.Role != a2a.RoleUnspecified)
	}
	if len(m.Parts) == 0 {
		d.FailAt(d.version.parts, "must have at least one element")
	}
	if m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleUser
	}
	return m
}

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// required fails if a request lacks a field.
func (d *decoder) required(name string, present bool) {
	if !present {
		d.FailAt(name, "is required")
	}
}

func (d *decoder) role() a2a.Role {
	n := d.Int()
	role, ok := scalar.RoleOf(n)
	if !ok && (n != 0 || d.version.roleRequired) {
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	}
	return role
}

func (d *decoder) state() a2a.State {
	state, ok := scalar.StateOf(d.Int())
	if !ok {
		d.Fail("must be a task state")
	}
	return state
}

// historyLength reads a number of messages. In a version without presence, 0 means the whole
// history, and the result is nil.
func (d *decoder) historyLength() *int {
	n := d.count()
	if n == 0 && !d.version.presence {
		return nil
	}
	return &n
}

func (d *decoder) count() int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return n
}

func (d *decoder) tenant() string {
	tenant := d.id()
	if strings.ContainsAny(tenant, `/\`) {
		d.Fail("must not contain a path separator")
	}
	return tenant
}

// The resource names of 0.3 are tasks/{id} and tasks/{id}/pushNotificationConfigs/{id}. A
// bare id is accepted as the name of a task.
const (
	tasks   = "tasks/"
	configs = "/pushNotificationConfigs"
	// oldConfigs is the collection in 0.2.2 to 0.2.4.
	oldConfigs = "/pushNotifications"
)

func resourceName(task, config string) string { return tasks + task + configs + "/" + config }

func (d *decoder) taskName() string { return d.bounded(strings.TrimPrefix(d.String(), tasks)) }

// parentName reads the name of a task, or of the collection of its configurations, and
// returns the id of the task.
func (d *decoder) parentName() string {
	name := strings.TrimPrefix(d.String(), tasks)
	return d.bounded(strings.TrimSuffix(strings.TrimSuffix(name, configs), oldConfigs))
}

// configName reads the name of a configuration, or the name of a task. config is "" for the
// name of a task.
func (d *decoder) configName() (task, config string) {
	name := strings.TrimPrefix(d.String(), tasks)
	for _, collection := range []string{configs, oldConfigs} {
		at := strings.LastIndex(name, collection+"/")
		if at >= 0 {
			return d.bounded(name[:at]), d.bounded(name[at+len(collection)+1:])
		}
	}
	return d.bounded(name), ""
}

func (d *decoder) bounded(id string) string {
	if len(id) > maxID {
		d.Fail("has an id of more than 256 bytes")
	}
	return id
}
