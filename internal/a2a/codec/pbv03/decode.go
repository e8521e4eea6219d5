// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv03

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// Bounds on what a request may hold.
const (
	maxParts   = 1024
	maxStrings = 256
	maxID      = 256
)

// ErrUnknownKind is returned for a StreamResponse that holds nothing known.
var ErrUnknownKind = errors.New("event has none of task, message, statusUpdate, artifactUpdate")

// decoder reads the shapes that requests and events share. A request is read
// by the letter, an agent's event with indulgence.
type decoder struct {
	*pbwire.Reader
	agent bool
}

var eventFields = pbwire.Message{
	1: pbwire.Bytes("task"),
	2: pbwire.Bytes("message"),
	3: pbwire.Bytes("statusUpdate"),
	4: pbwire.Bytes("artifactUpdate"),
}

// DecodeEvent reads a StreamResponse or a SendMessageResponse of a server. It
// is lenient about ids, roles and times that are missing.
func DecodeEvent(text []byte) (a2a.Event, error) {
	d := &decoder{Reader: pbwire.New(text), agent: true}
	var e a2a.Event
	count := 0
	for f := range d.Fields(eventFields) {
		count++
		switch f {
		case 1:
			e.Task = d.task()
		case 2:
			e.Message = d.message()
		case 3:
			e.Status = d.statusUpdate()
		case 4:
			e.Artifact = d.artifactUpdate()
		}
	}
	if count > 1 {
		d.Fail("must hold one of task, message, statusUpdate, artifactUpdate")
	}
	if err := d.Err(); err != nil {
		return a2a.Event{}, err
	}
	if count == 0 {
		return a2a.Event{}, ErrUnknownKind
	}
	return e, nil
}

// DecodeTask reads a Task of a server.
func DecodeTask(text []byte) (*a2a.Task, error) {
	d := &decoder{Reader: pbwire.New(text), agent: true}
	t := d.task()
	return t, d.Err()
}

var taskFields = pbwire.Message{
	1: pbwire.Bytes("id"),
	2: pbwire.Bytes("contextId"),
	3: pbwire.Bytes("status"),
	4: pbwire.Repeated("artifacts"),
	5: pbwire.Repeated("history"),
	6: pbwire.Bytes("metadata"),
}

func (d *decoder) task() *a2a.Task {
	t := &a2a.Task{}
	for f := range d.Fields(taskFields) {
		switch f {
		case 1:
			t.ID = d.id()
		case 2:
			t.ContextID = d.id()
		case 3:
			t.Status = d.status()
		case 4:
			t.Artifacts = append(t.Artifacts, d.artifact())
		case 5:
			t.History = append(t.History, d.message())
		case 6:
			t.Metadata = d.Object()
		}
	}
	return t
}

var messageFields = pbwire.Message{
	1: pbwire.Bytes("messageId"),
	2: pbwire.Bytes("contextId"),
	3: pbwire.Bytes("taskId"),
	4: pbwire.Varint("role"),
	5: pbwire.Repeated("content"),
	6: pbwire.Bytes("metadata"),
	7: pbwire.Repeated("extensions"),
	8: pbwire.Repeated("referenceTaskIds"), // the Go SDK's; no release has it
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	for f := range d.Fields(messageFields) {
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
			m.Parts = d.appendPart(m.Parts)
		case 6:
			m.Metadata = d.Object()
		case 7:
			m.Extensions = d.Append(m.Extensions, maxStrings)
		case 8:
			m.ReferenceTasks = d.Append(m.ReferenceTasks, maxStrings)
		}
	}
	if !d.agent && len(m.Parts) == 0 {
		d.FailAt("content", "must have at least one element")
	}
	if m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleUser
		if d.agent {
			m.Role = a2a.RoleAgent
		}
	}
	return m
}

var statusFields = pbwire.Message{
	1: pbwire.Varint("state"),
	2: pbwire.Bytes("message"),
	3: pbwire.Bytes("timestamp"),
}

func (d *decoder) status() a2a.Status {
	var s a2a.Status
	for f := range d.Fields(statusFields) {
		switch f {
		case 1:
			s.State = d.state()
		case 2:
			s.Message = d.message()
		case 3:
			s.Time = d.Time()
		}
	}
	return s
}

var statusUpdateFields = pbwire.Message{
	1: pbwire.Bytes("taskId"),
	2: pbwire.Bytes("contextId"),
	3: pbwire.Bytes("status"),
	4: pbwire.Varint("final"),
	5: pbwire.Bytes("metadata"),
}

func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	final := false
	for f := range d.Fields(statusUpdateFields) {
		switch f {
		case 1:
			u.TaskID = d.id()
		case 2:
			u.ContextID = d.id()
		case 3:
			u.Status = d.status()
		case 4:
			final = d.Bool()
		case 5:
			u.Metadata = d.Object()
		}
	}
	u.Paused = u.Status.State == a2a.StateInputRequired && !final
	return u
}

var artifactUpdateFields = pbwire.Message{
	1: pbwire.Bytes("taskId"),
	2: pbwire.Bytes("contextId"),
	3: pbwire.Bytes("artifact"),
	4: pbwire.Varint("append"),
	5: pbwire.Varint("lastChunk"),
	6: pbwire.Bytes("metadata"),
}

func (d *decoder) artifactUpdate() *a2a.ArtifactUpdate {
	u := &a2a.ArtifactUpdate{}
	for f := range d.Fields(artifactUpdateFields) {
		switch f {
		case 1:
			u.TaskID = d.id()
		case 2:
			u.ContextID = d.id()
		case 3:
			u.Artifact = d.artifact()
		case 4:
			u.Append = d.Bool()
		case 5:
			u.LastChunk = d.Bool()
		case 6:
			u.Metadata = d.Object()
		}
	}
	return u
}

var artifactFields = pbwire.Message{
	1: pbwire.Bytes("artifactId"),
	3: pbwire.Bytes("name"),
	4: pbwire.Bytes("description"),
	5: pbwire.Repeated("parts"),
	6: pbwire.Bytes("metadata"),
	7: pbwire.Repeated("extensions"),
}

func (d *decoder) artifact() a2a.Artifact {
	var a a2a.Artifact
	for f := range d.Fields(artifactFields) {
		switch f {
		case 1:
			a.ID = d.id()
		case 3:
			a.Name = d.String()
		case 4:
			a.Description = d.String()
		case 5:
			a.Parts = d.appendPart(a.Parts)
		case 6:
			a.Metadata = d.Object()
		case 7:
			a.Extensions = d.Append(a.Extensions, maxStrings)
		}
	}
	return a
}

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// required blames a field that is missing.
func (d *decoder) required(name string, there bool) {
	if !there {
		d.FailAt(name, "is required")
	}
}

func (d *decoder) role() a2a.Role {
	n := d.Int()
	role, ok := spelling.RoleNumber(n)
	if !ok && n != 0 {
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	}
	return role
}

func (d *decoder) state() a2a.State {
	state, ok := spelling.StateNumber(d.Int())
	if !ok {
		d.Fail("is not a task state")
	}
	return state
}
