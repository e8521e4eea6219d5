// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v10

import (
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// Bounds on what a request may hold.
const (
	maxParts   = 1024
	maxStrings = 256
	maxPage    = 100
)

// ErrUnknownKind is returned for an object that is no StreamResponse.
var ErrUnknownKind = errors.New("event has none of task, message, statusUpdate, artifactUpdate")

// DecodeEvent reads a StreamResponse that an agent emits. It is lenient where
// agents are: states and roles in any spelling, missing ids, contexts and times.
func DecodeEvent(text []byte) (a2a.Event, error) {
	d := &decoder{Reader: jsonread.New(text), agent: true}
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

// DecodeTask reads a Task as an agent or a server emits it.
func DecodeTask(text []byte) (*a2a.Task, error) {
	d := &decoder{Reader: jsonread.New(text), agent: true}
	t := d.task()
	return t, d.End()
}

// DecodePart reads a Part as an agent emits it.
func DecodePart(text []byte) (a2a.Part, error) {
	d := &decoder{Reader: jsonread.New(text), agent: true}
	p := d.part()
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

// status reads a status. An agent may leave out the state of a task, but not
// that of an update: the update would change nothing.
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

func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	hasState := false
	for f := range d.members() {
		switch f {
		case fieldTaskID:
			u.TaskID = d.id()
		case fieldContextID:
			u.ContextID = d.id()
		case fieldStatus:
			u.Status, hasState = d.statusAndState()
		case fieldMetadata:
			u.Metadata = d.Object()
		}
	}
	if !hasState {
		d.FailAt("status.state", "is required")
	}
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
		parts = append(parts, d.part())
	}
	return parts
}

// part reads a oneof. A data member that is null is set: it holds the JSON
// value null.
func (d *decoder) part() a2a.Part {
	var p a2a.Part
	count := 0
	for f := range d.allMembers() {
		if f != fieldData && d.Kind() == 'n' {
			continue
		}
		switch f {
		case fieldText:
			p.Content, p.Text = a2a.ContentText, d.String()
			count++
		case fieldRaw:
			p.Content, p.Raw = a2a.ContentRaw, d.Bytes()
			count++
		case fieldURL:
			p.Content, p.URL = a2a.ContentURL, d.String()
			count++
		case fieldData:
			p.Content, p.Data = a2a.ContentData, d.Value()
			count++
		case fieldFilename:
			p.Filename = d.String()
		case fieldMediaType:
			p.MediaType = d.String()
		case fieldMetadata:
			p.Metadata = d.Object()
		}
	}
	if count != 1 {
		d.Fail("must have exactly one of text, raw, url, data")
	}
	return p
}

func (d *decoder) enumRole() (a2a.Role, bool) {
	if d.Kind() == '0' {
		return spelling.RoleNumber(d.Int())
	}
	return spelling.Role(d.String())
}

func (d *decoder) state() a2a.State {
	var state a2a.State
	var ok bool
	if d.Kind() == '0' {
		state, ok = spelling.StateNumber(d.Int())
	} else {
		state, ok = spelling.State(d.String())
	}
	if !ok {
		d.Fail("is not a task state")
	}
	return state
}

func (d *decoder) time() time.Time {
	t, ok := spelling.Time(d.String())
	if !ok && !d.agent {
		d.Fail("must be a time of RFC 3339")
	}
	return t
}
