// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03proto

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// ErrUnknownKind is returned for an object that is no StreamResponse.
var ErrUnknownKind = errors.New("event has none of task, message, statusUpdate, artifactUpdate")

// DecodeEvent reads a StreamResponse or a SendMessageResponse that an agent
// emits. It is lenient where agents are: states and roles in any spelling,
// missing ids, contexts and times.
func DecodeEvent(text []byte) (a2a.Event, error) {
	d := fromAgent(text)
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

// DecodeTask reads a task as an agent emits it.
func DecodeTask(text []byte) (*a2a.Task, error) {
	d := fromAgent(text)
	t := d.task()
	return t, d.End()
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
		case fieldContent:
			m.Parts = d.parts()
		case fieldMetadata:
			m.Metadata = d.Object()
		case fieldExtensions:
			m.Extensions = d.Strings(maxStrings)
		case fieldReferenceTaskIDs:
			m.ReferenceTasks = d.Strings(maxStrings)
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

// statusUpdate takes an input-required that is not final for a run that waits.
// Without presence, false says no more than nothing, so that only input that is
// required can tell.
func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	hasState := false
	final := false
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
	u.Paused = u.Status.State == a2a.StateInputRequired && !final
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
		case fieldContent:
			a.Parts = d.parts()
		case fieldMetadata:
			a.Metadata = d.Object()
		case fieldExtensions:
			a.Extensions = d.Strings(maxStrings)
		}
	}
	return a
}
