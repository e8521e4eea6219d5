// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonobject"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// maxPage bounds the size of a page.
const maxPage = 100

// ErrUnknownKind is returned for an object whose kind the version does not have.
var ErrUnknownKind = errors.New("kind is not one of task, message, status-update, artifact-update")

// DecodeEvent reads an event of an agent: an object with a kind. It is lenient: it accepts
// states and roles in any spelling, missing ids, contexts and times, and a message whose
// content is a string.
func DecodeEvent(text []byte) (a2a.Event, error) {
	kind, err := kindOf(text)
	if err != nil {
		return a2a.Event{}, err
	}
	return DecodeKind(kind, text)
}

// DecodeKind reads an event of the given kind. The text may omit the kind.
func DecodeKind(kind string, text []byte) (a2a.Event, error) {
	var e a2a.Event
	d := fromAgent(text)
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

// DecodeTask reads a task of an agent or a server, as leniently as DecodeEvent.
func DecodeTask(text []byte) (*a2a.Task, error) {
	d := fromAgent(text)
	t := d.task()
	return t, d.End()
}

// DecodePart reads a part of an agent, as leniently as DecodeEvent.
func DecodePart(text []byte) (a2a.Part, error) {
	d := fromAgent(text)
	p := d.partReader().Part()
	return p, d.End()
}

// decoder reads the objects that occur in both requests and events. It reads a request
// strictly and an event of an agent leniently.
type decoder struct{ legacyjson.Decoder }

// variantOf returns the member name that a name in a request misspells.
var variantOf = jsonread.NewNames(append([]string{
	"acceptedOutputModes", "authentication", "blocking", "configuration", "contextId", "credentials", "extensions",
	"historyLength", "id", "includeArtifacts", inputRequest, "message", "messageId", "pageSize", "pageToken", "parts",
	"pushNotificationConfig", "pushNotificationConfigId", "referenceTaskIds", "role", "schemes", "status",
	"statusTimestampAfter", "taskId", "token", "url",
}, typedpart.Names...)...).VariantOf

// fromClient returns a decoder of the params of a request.
func fromClient(params []byte) *decoder {
	d := &decoder{}
	d.StartRequest(params, variantOf)
	return d
}

// fromAgent returns a decoder of a message from an agent or a server.
func fromAgent(text []byte) *decoder {
	d := &decoder{}
	d.StartEvent(text)
	return d
}

func (d *decoder) partReader() typedpart.Reader {
	return typedpart.Reader{Reader: &d.Reader, Agent: d.Agent}
}

func kindOf(text []byte) (string, error) {
	r := jsonread.New(text)
	defer r.Close()
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
			t.ID = d.ID()
		case "contextId":
			t.ContextID = d.ID()
		case "status":
			t.Status, _ = d.Status(d.message)
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
	var wanted a2a.Object
	for name := range d.Members() {
		switch string(name) {
		case "kind":
			if d.String() != "message" {
				d.Fail(`must be "message"`)
			}
		case "messageId":
			m.ID = d.ID()
		case "contextId":
			m.ContextID = d.ID()
		case "taskId":
			m.TaskID = d.ID()
		case "role":
			m.Role = d.Role()
		case "parts":
			m.Parts = d.partReader().Parts()
		case "content":
			if d.Agent && d.Kind() == '"' && m.Parts == nil {
				m.Parts = []a2a.Part{a2a.TextPart(d.String())}
			}
		case "metadata":
			m.Metadata = d.Object()
		case inputRequest:
			if d.Kind() == '{' {
				wanted = d.Object()
			}
		case "extensions":
			m.Extensions = d.Strings(legacyjson.MaxStrings)
		case "referenceTaskIds":
			m.ReferenceTasks = d.Strings(legacyjson.MaxStrings)
		}
	}
	m.Metadata = withInputRequest(m.Metadata, wanted)
	d.CheckMessage(m)
	return m
}

// withInputRequest returns the metadata with inputRequest as its first member. The value is
// wanted or, if that is nil, the value that the metadata already has. Without either, the
// metadata stays unchanged.
func withInputRequest(metadata, wanted a2a.Object) a2a.Object {
	if wanted == nil && (len(metadata) == 0 || !jsonobject.MayHave(metadata, inputRequest)) {
		return metadata
	}
	value, rest := jsonobject.Cut(metadata, inputRequest)
	if wanted != nil {
		value = a2a.Value(wanted)
	}
	if value == nil {
		return metadata
	}
	return jsonobject.With(rest, inputRequest, value)
}

func (d *decoder) statusUpdate() *a2a.StatusUpdate {
	u := &a2a.StatusUpdate{}
	final, hasFinal, hasState := false, false, false
	for name := range d.Members() {
		switch string(name) {
		case "taskId":
			u.TaskID = d.ID()
		case "contextId":
			u.ContextID = d.ID()
		case "status":
			u.Status, hasState = d.Status(d.message)
		case "final":
			final, hasFinal = d.Bool(), true
		case "metadata":
			u.Metadata = d.Object()
		}
	}
	if !hasState {
		d.FailAt("status.state", "is required")
	}
	u.Paused = u.Status.State == a2a.StateInputRequired && hasFinal && !final
	return u
}

func (d *decoder) artifactUpdate() *a2a.ArtifactUpdate {
	u := &a2a.ArtifactUpdate{}
	for name := range d.Members() {
		switch string(name) {
		case "taskId":
			u.TaskID = d.ID()
		case "contextId":
			u.ContextID = d.ID()
		case "artifact":
			parts := u.Artifact.Parts
			if u.Artifact = d.artifact(); u.Artifact.Parts == nil {
				u.Artifact.Parts = parts
			}
		case "part":
			// A sample of 0.2 streams a part in place of the artifact.
			if p := d.partReader().Part(); u.Artifact.Parts == nil {
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
			a.ID = d.ID()
		case "name":
			a.Name = d.String()
		case "description":
			a.Description = d.String()
		case "parts":
			a.Parts = d.partReader().Parts()
		case "metadata":
			a.Metadata = d.Object()
		case "extensions":
			a.Extensions = d.Strings(legacyjson.MaxStrings)
		}
	}
	return a
}
