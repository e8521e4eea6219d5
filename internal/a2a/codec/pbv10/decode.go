// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv10

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
	5: pbwire.Repeated("parts"),
	6: pbwire.Bytes("metadata"),
	7: pbwire.Repeated("extensions"),
	8: pbwire.Repeated("referenceTaskIds"),
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
	d.required("messageId", m.ID != "")
	d.required("role", m.Role != a2a.RoleUnspecified)
	if !d.agent && len(m.Parts) == 0 {
		d.FailAt("parts", "must have at least one element")
	}
	if d.agent && m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleAgent
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
	4: pbwire.Bytes("metadata"),
}

func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	for f := range d.Fields(statusUpdateFields) {
		switch f {
		case 1:
			u.TaskID = d.id()
		case 2:
			u.ContextID = d.id()
		case 3:
			u.Status = d.status()
		case 4:
			u.Metadata = d.Object()
		}
	}
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
	2: pbwire.Bytes("name"),
	3: pbwire.Bytes("description"),
	4: pbwire.Repeated("parts"),
	5: pbwire.Bytes("metadata"),
	6: pbwire.Repeated("extensions"),
}

func (d *decoder) artifact() a2a.Artifact {
	var a a2a.Artifact
	for f := range d.Fields(artifactFields) {
		switch f {
		case 1:
			a.ID = d.id()
		case 2:
			a.Name = d.String()
		case 3:
			a.Description = d.String()
		case 4:
			a.Parts = d.appendPart(a.Parts)
		case 5:
			a.Metadata = d.Object()
		case 6:
			a.Extensions = d.Append(a.Extensions, maxStrings)
		}
	}
	return a
}

// appendPart reads one more part. What an agent sends is bounded as a whole.
func (d *decoder) appendPart(parts []a2a.Part) []a2a.Part {
	if !d.agent && !d.Index(maxParts) {
		return nil
	}
	return append(parts, d.part())
}

var partFields = pbwire.Message{
	1: pbwire.Bytes("text"),
	2: pbwire.Bytes("raw"),
	3: pbwire.Bytes("url"),
	4: pbwire.Bytes("data"),
	5: pbwire.Bytes("metadata"),
	6: pbwire.Bytes("filename"),
	7: pbwire.Bytes("mediaType"),
}

func (d *decoder) part() a2a.Part {
	var p a2a.Part
	count := 0
	for f := range d.Fields(partFields) {
		switch f {
		case 1:
			p.Content, p.Text = a2a.ContentText, d.String()
		case 2:
			p.Content, p.Raw = a2a.ContentRaw, d.Raw()
		case 3:
			p.Content, p.URL = a2a.ContentURL, d.String()
		case 4:
			p.Content, p.Data = a2a.ContentData, d.Value()
		case 5:
			p.Metadata = d.Object()
		case 6:
			p.Filename = d.String()
		case 7:
			p.MediaType = d.String()
		}
		if f <= 4 {
			count++
		}
	}
	if count != 1 {
		d.Fail("must have exactly one of text, raw, url, data")
	}
	return p
}

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// required blames a field that is missing from a request. What a server
// leaves out is filled in.
func (d *decoder) required(name string, there bool) {
	if !there && !d.agent {
		d.FailAt(name, "is required")
	}
}

func (d *decoder) role() a2a.Role {
	n := d.Int()
	role, ok := spelling.RoleNumber(n)
	if !ok && (n != 0 || !d.agent) {
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
