// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// decoder reads the objects that occur in both requests and events. It reads a request
// strictly and an event of an agent leniently.
type decoder struct {
	reader
	version *Version
	agent   bool
}

// fromClient returns a decoder of a request.
func (v *Version) fromClient(text []byte) *decoder {
	d := &decoder{reader: reader{fields: v.fields}, version: v}
	d.Start(text)
	d.Spell(v.variantOf)
	return d
}

// fromAgent returns a decoder of a message from an agent or a server.
func (v *Version) fromAgent(text []byte) *decoder {
	d := &decoder{reader: reader{fields: v.fields}, version: v, agent: true}
	d.Start(text)
	return d
}

// DecodeEvent reads a StreamResponse or SendMessageResponse of an agent. It is lenient: it
// accepts states and roles in any spelling, and missing ids, contexts and times.
func (v *Version) DecodeEvent(text []byte) (a2a.Event, error) {
	d := v.fromAgent(text)
	var e a2a.Event
	count := 0
	for f := range d.members() {
		switch f {
		case fieldTask:
			e.Task = d.task()
		case fieldMessage:
			e.Message = d.message()
		case fieldStatusUpdate:
			e.Status = d.statusUpdate()
		case fieldArtifactUpdate:
			e.Artifact = d.artifactUpdate()
		default:
			continue
		}
		count++
	}
	if count > 1 {
		d.Fail("must hold one of task, message, statusUpdate, artifactUpdate")
	}
	if err := d.End(); err != nil {
		return a2a.Event{}, err
	}
	if count == 0 {
		return a2a.Event{}, ErrUnknownKind
	}
	return e, nil
}

// DecodeTask reads the Task of an agent or a server, as leniently as DecodeEvent.
func (v *Version) DecodeTask(text []byte) (*a2a.Task, error) {
	d := v.fromAgent(text)
	t := d.task()
	return t, d.End()
}

// DecodePart reads the Part of an agent, as leniently as DecodeEvent.
func (v *Version) DecodePart(text []byte) (a2a.Part, error) {
	d := v.fromAgent(text)
	p := v.decodePart(&d.reader)
	return p, d.End()
}

func (d *decoder) task() *a2a.Task {
	t := &a2a.Task{}
	for f := range d.members() {
		switch f {
		case fieldID:
			t.ID = d.id()
		case fieldContextID:
			t.ContextID = d.id()
		case fieldStatus:
			t.Status = d.status()
		case fieldArtifacts:
			for range d.Elements() {
				t.Artifacts = append(t.Artifacts, d.artifact())
			}
		case fieldHistory:
			for range d.Elements() {
				t.History = append(t.History, d.message())
			}
		case fieldMetadata:
			t.Metadata = d.Object()
		}
	}
	return t
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	for f := range d.members() {
		switch f {
		case fieldMessageID:
			m.ID = d.id()
		case fieldContextID:
			m.ContextID = d.id()
		case fieldTaskID:
			m.TaskID = d.id()
		case fieldRole:
			m.Role = d.role()
		case fieldParts:
			m.Parts = d.parts()
		case fieldMetadata:
			m.Metadata = d.Object()
		case fieldExtensions:
			m.Extensions = d.Strings(maxStrings)
		case fieldReferenceTaskIDs:
			m.ReferenceTasks = d.Strings(maxStrings)
		}
	}
	if d.version.roleRequired {
		d.required("messageId", m.ID != "")
		d.required("role", m.Role != a2a.RoleUnspecified)
	}
	if !d.agent && len(m.Parts) == 0 {
		d.FailAt(d.version.partsName, "must have at least one element")
	}
	if m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleUser
		if d.agent {
			m.Role = a2a.RoleAgent
		}
	}
	return m
}

// status reads the TaskStatus of a task, of which an agent may omit the state. In an update,
// the state is required, because an update without a state would change nothing.
func (d *decoder) status() a2a.Status {
	s, _ := d.statusAndState()
	return s
}

func (d *decoder) statusAndState() (s a2a.Status, hasState bool) {
	for f := range d.members() {
		switch f {
		case fieldState:
			s.State, hasState = d.state(), true
		case fieldMessage:
			s.Message = d.message()
		case fieldTimestamp:
			s.Time = d.time()
		}
	}
	return s, hasState
}

// statusUpdate reads a TaskStatusUpdateEvent. An update to input-required that is not final
// means that the agent's run is paused. For other states, false has no meaning: the field
// final has no presence, so agents that omit it send false.
func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	hasState, final := false, false
	for f := range d.members() {
		switch f {
		case fieldTaskID:
			u.TaskID = d.id()
		case fieldContextID:
			u.ContextID = d.id()
		case fieldStatus:
			u.Status, hasState = d.statusAndState()
		case fieldFinal:
			final = d.Bool()
		case fieldMetadata:
			u.Metadata = d.Object()
		}
	}
	if !hasState {
		d.FailAt("status.state", "is required")
	}
	u.Paused = d.version.final && u.Status.State == a2a.StateInputRequired && !final
	return u
}

func (d *decoder) artifactUpdate() *a2a.ArtifactUpdate {
	u := &a2a.ArtifactUpdate{}
	for f := range d.members() {
		switch f {
		case fieldTaskID:
			u.TaskID = d.id()
		case fieldContextID:
			u.ContextID = d.id()
		case fieldArtifact:
			u.Artifact = d.artifact()
		case fieldAppend:
			u.Append = d.Bool()
		case fieldLastChunk:
			u.LastChunk = d.Bool()
		case fieldMetadata:
			u.Metadata = d.Object()
		}
	}
	return u
}

func (d *decoder) artifact() a2a.Artifact {
	var a a2a.Artifact
	for f := range d.members() {
		switch f {
		case fieldArtifactID:
			a.ID = d.id()
		case fieldName:
			a.Name = d.String()
		case fieldDescription:
			a.Description = d.String()
		case fieldParts:
			a.Parts = d.parts()
		case fieldMetadata:
			a.Metadata = d.Object()
		case fieldExtensions:
			a.Extensions = d.Strings(maxStrings)
		}
	}
	return a
}

func (d *decoder) parts() []a2a.Part {
	parts := []a2a.Part{}
	for i := range d.Elements() {
		if !d.agent && i >= maxParts {
			d.TooMany(maxParts)
			return nil
		}
		parts = append(parts, d.version.decodePart(&d.reader))
	}
	return parts
}

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

func (d *decoder) tenant() string {
	tenant := d.id()
	if strings.ContainsAny(tenant, `/\`) {
		d.Fail("must not contain a path separator")
	}
	return tenant
}

// required fails if a request lacks a member. It accepts an event of an agent, for which
// the caller fills in missing values.
func (d *decoder) required(name string, present bool) {
	if !present && !d.agent {
		d.FailAt(name, "is required")
	}
}

// role reads the enum Role by name or by number. It fails for the unspecified value if the
// version requires a role.
func (d *decoder) role() a2a.Role {
	var role a2a.Role
	var ok bool
	if d.Kind() == '0' {
		n := d.Int()
		role, ok = scalar.RoleOf(n)
		ok = ok || n == 0 && !d.version.roleRequired
	} else {
		name := d.String()
		role, ok = scalar.ParseRole(name)
		ok = ok || name == "ROLE_UNSPECIFIED" && !d.version.roleRequired
	}
	if !ok {
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	}
	return role
}

func (d *decoder) state() a2a.State {
	var state a2a.State
	var ok bool
	if d.Kind() == '0' {
		state, ok = scalar.StateOf(d.Int())
	} else {
		state, ok = scalar.ParseState(d.String())
	}
	if !ok {
		d.Fail("must be a task state")
	}
	return state
}

func (d *decoder) time() time.Time {
	t, ok := scalar.ParseTime(d.String())
	if !ok && !d.agent {
		d.Fail("must be an RFC 3339 time")
	}
	return t
}
