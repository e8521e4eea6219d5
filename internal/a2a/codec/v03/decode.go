// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"errors"
	"iter"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// Bounds on what a request may hold.
const (
	maxID      = 256
	maxParts   = 1024
	maxStrings = 256
)

// ErrUnknownKind is returned for an object whose kind is none of this version.
var ErrUnknownKind = errors.New("kind is not one of task, message, status-update, artifact-update")

// DecodeEvent reads what an agent emits: an object with a kind. It is lenient
// where agents are: states and roles in any spelling, missing ids, contexts and
// times, a message whose content is a plain string.
func DecodeEvent(text []byte) (a2a.Event, error) {
	kind, err := kindOf(text)
	if err != nil {
		return a2a.Event{}, err
	}
	var e a2a.Event
	d := &decoder{Reader: jsonread.New(text), agent: true}
	switch kind {
	case "task":
		e.Task = d.task()
	case "message":
		e.Message = d.message()
	case "status-update":
		e.Status = d.statusUpdate()
	case "artifact-update":
		e.Artifact = d.artifactUpdate()
	default:
		return a2a.Event{}, ErrUnknownKind
	}
	if err := d.End(); err != nil {
		return a2a.Event{}, err
	}
	return e, nil
}

// DecodeTask reads a task as an agent or a server emits it.
func DecodeTask(text []byte) (*a2a.Task, error) {
	d := &decoder{Reader: jsonread.New(text), agent: true}
	t := d.task()
	return t, d.End()
}

// DecodeMessage reads a message as an agent or a server emits it.
func DecodeMessage(text []byte) (*a2a.Message, error) {
	d := &decoder{Reader: jsonread.New(text), agent: true}
	m := d.message()
	return m, d.End()
}

// DecodePart reads a part as an agent emits it.
func DecodePart(text []byte) (a2a.Part, error) {
	d := &decoder{Reader: jsonread.New(text), agent: true}
	p := d.part()
	return p, d.End()
}

// decoder reads the shapes that requests and events share. A request is read
// by the letter, an agent's event with indulgence.
type decoder struct {
	*jsonread.Reader
	agent bool
}

// names are those of requests.
var names = spelling.NewNames(
	"acceptedOutputModes", "authentication", "blocking", "bytes", "configuration", "contextId", "credentials",
	"data", "extensions", "file", "historyLength", "id", "kind", "message", "messageId", "metadata", "mimeType",
	"name", "parts", "pushNotificationConfig", "referenceTaskIds", "role", "schemes", "taskId", "text", "token",
	"uri", "url",
)

// Members is that of the reader. In a request it refuses what differs from a
// name in case only.
func (d *decoder) Members() iter.Seq[[]byte] {
	if d.agent {
		return d.Reader.Members()
	}
	return func(yield func([]byte) bool) {
		for name := range d.Reader.Members() {
			if meant := names.VariantOf(name); meant != "" {
				d.Skip()
				d.Fail("must be spelled " + meant)
				return
			}
			if !yield(name) {
				return
			}
		}
	}
}

func kindOf(text []byte) (string, error) {
	r := jsonread.New(text)
	kind := ""
	for name := range r.Members() {
		if string(name) == "kind" {
			kind = r.String()
			break
		}
	}
	return kind, r.Err()
}

func (d *decoder) task() *a2a.Task {
	t := &a2a.Task{}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			t.ID = d.id()
		case "contextId":
			t.ContextID = d.id()
		case "status":
			t.Status = d.status()
		case "artifacts":
			for range d.Elements() {
				t.Artifacts = append(t.Artifacts, d.artifact())
			}
		case "history":
			for range d.Elements() {
				t.History = append(t.History, d.message())
			}
		case "metadata":
			t.Metadata = d.Object()
		}
	}
	return t
}

func (d *decoder) message() *a2a.Message {
	m := &a2a.Message{}
	for name := range d.Members() {
		switch string(name) {
		case "kind":
			if d.String() != "message" {
				d.Fail(`must be "message"`)
			}
		case "messageId":
			m.ID = d.id()
		case "contextId":
			m.ContextID = d.id()
		case "taskId":
			m.TaskID = d.id()
		case "role":
			m.Role = d.role()
		case "parts":
			m.Parts = d.parts()
		case "content":
			if d.agent && d.Kind() == '"' && m.Parts == nil {
				m.Parts = []a2a.Part{a2a.TextPart(d.String())}
			}
		case "metadata":
			m.Metadata = d.Object()
		case "extensions":
			m.Extensions = d.Strings(maxStrings)
		case "referenceTaskIds":
			m.ReferenceTasks = d.Strings(maxStrings)
		}
	}
	if !d.agent && len(m.Parts) == 0 {
		d.FailAt("parts", "must have at least one element")
	}
	if m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleUser
		if d.agent {
			m.Role = a2a.RoleAgent
		}
	}
	return m
}

func (d *decoder) status() a2a.Status {
	var s a2a.Status
	for name := range d.Members() {
		switch string(name) {
		case "state":
			state, ok := spelling.State(d.String())
			if !ok {
				d.Fail("is not a task state")
			}
			s.State = state
		case "message":
			s.Message = d.message()
		case "timestamp":
			s.Time = d.time()
		}
	}
	return s
}

func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	final, hasFinal := false, false
	for name := range d.Members() {
		switch string(name) {
		case "taskId":
			u.TaskID = d.id()
		case "contextId":
			u.ContextID = d.id()
		case "status":
			u.Status = d.status()
		case "final":
			final, hasFinal = d.Bool(), true
		case "metadata":
			u.Metadata = d.Object()
		}
	}
	u.Paused = u.Status.State == a2a.StateInputRequired && hasFinal && !final
	return u
}

func (d *decoder) artifactUpdate() *a2a.ArtifactUpdate {
	u := &a2a.ArtifactUpdate{}
	for name := range d.Members() {
		switch string(name) {
		case "taskId":
			u.TaskID = d.id()
		case "contextId":
			u.ContextID = d.id()
		case "artifact":
			parts := u.Artifact.Parts
			if u.Artifact = d.artifact(); u.Artifact.Parts == nil {
				u.Artifact.Parts = parts
			}
		case "part":
			// One sample of 0.2 streams a part where the artifact belongs.
			if p := d.part(); u.Artifact.Parts == nil {
				u.Artifact.Parts = []a2a.Part{p}
			}
		case "append":
			u.Append = d.Bool()
		case "lastChunk":
			u.LastChunk = d.Bool()
		case "metadata":
			u.Metadata = d.Object()
		}
	}
	return u
}

func (d *decoder) artifact() a2a.Artifact {
	var a a2a.Artifact
	for name := range d.Members() {
		switch string(name) {
		case "artifactId":
			a.ID = d.id()
		case "name":
			a.Name = d.String()
		case "description":
			a.Description = d.String()
		case "parts":
			a.Parts = d.parts()
		case "metadata":
			a.Metadata = d.Object()
		case "extensions":
			a.Extensions = d.Strings(maxStrings)
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

func (d *decoder) role() a2a.Role {
	role, ok := spelling.Role(d.String())
	if !ok {
		d.Fail(`must be "user" or "agent"`)
	}
	return role
}

func (d *decoder) time() time.Time {
	t, ok := spelling.Time(d.String())
	if !ok && !d.agent {
		d.Fail("must be a time of RFC 3339")
	}
	return t
}
