// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentevents

import (
	"errors"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// ErrUnknownEvent is returned for JSON that is not an event in any form.
var ErrUnknownEvent = errors.New("it is not a task, message, status update or artifact update, neither by a kind nor by a member of that name")

// events are the kinds of 0.3, in the order of the members of 1.0 that hold the same.
var (
	events   = []string{"task", "message", "status-update", "artifact-update"}
	wrappers = []string{"task", "message", "statusUpdate", "artifactUpdate"}
	snakes   = []string{"task", "message", "status_update", "artifact_update"}
)

// DecodeEvent reads an event that may mix the forms of 0.3 and 1.0, as servers
// do that moved from one to the other: named by a kind or by the member that
// holds it, or by neither, with parts of either version. With newer, the members of 1.0 are
// preferred to those of 0.3. It is slower than the decoders of one version, and
// meant for what these refuse.
//
// The error is that of the preferred version, or ErrUnknownEvent.
func DecodeEvent(text []byte, newer bool) (a2a.Event, error) {
	at, inner, wrappedBy10, err := unwrap(text)
	if err != nil {
		return a2a.Event{}, err
	}
	wrapped := func() []byte { return append(append([]byte(`{"`+wrappers[at]+`":`), inner...), '}') }
	older := func() (a2a.Event, error) { return v03.DecodeKind(events[at], inner) }
	latest := func() (a2a.Event, error) { return protojson.V10.DecodeEvent(wrapped()) }
	proto := func() (a2a.Event, error) { return protojson.V03.DecodeEvent(wrapped()) }
	if newer || wrappedBy10 {
		return first(text, latest, older, proto)
	}
	return first(text, older, latest, proto)
}

func first(text []byte, decoders ...func() (a2a.Event, error)) (a2a.Event, error) {
	var refusal error
	for _, decode := range decoders {
		e, err := decode()
		if err == nil {
			err = Check(&e, text)
		}
		if err == nil {
			return e, nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	return a2a.Event{}, refusal
}

// DecodeTask reads a task that may be named and mixed as in DecodeEvent.
func DecodeTask(text []byte, newer bool) (*a2a.Task, error) {
	e, err := DecodeEvent(text, newer)
	if err == nil && e.Task == nil {
		err = errors.New("it is not a task")
	}
	return e.Task, err
}

// unwrap returns which of the events a text holds, the text of that event, and
// whether a member of 1.0 held it.
func unwrap(text []byte) (at int, inner []byte, held bool, err error) {
	r := jsonread.New(text)
	if r.Kind() != '{' {
		r.Skip()
		if err := r.End(); err != nil {
			return 0, nil, false, err
		}
		return 0, nil, false, ErrUnknownEvent
	}
	kind, wrapper, has := -1, -1, map[string]bool{}
	for name := range r.Members() {
		has[string(name)] = true
		if string(name) == "kind" && r.Kind() == '"' {
			kind = slices.Index(events, r.String())
			continue
		}
		if i := max(slices.Index(wrappers, string(name)), slices.Index(snakes, string(name))); i >= 0 && r.Kind() == '{' {
			wrapper, inner = i, r.Raw()
		}
	}
	if err := r.End(); err != nil {
		return 0, nil, false, err
	}
	switch {
	case kind >= 0 && (wrapper != kind || !has[wrappers[kind]] && !has[snakes[kind]]):
		return kind, text, false, nil
	case wrapper >= 0:
		return wrapper, inner, true, nil
	case has["artifact"]:
		return 3, text, false, nil
	case has["status"] && (has["taskId"] || has["task_id"]):
		return 2, text, false, nil
	case has["status"] && has["id"]:
		return 0, text, false, nil
	case has["role"] && has["parts"]:
		return 1, text, false, nil
	default:
		return 0, nil, false, ErrUnknownEvent
	}
}

// Check returns what an event lacks without which its content would be lost: an
// artifact update or a message without parts is one whose parts were not
// understood. An update that only ends an artifact needs none. Text is what the
// event was read from.
func Check(e *a2a.Event, text []byte) error {
	switch {
	case e.Artifact != nil && e.Artifact.Artifact.Parts == nil && (!e.Artifact.Append || !e.Artifact.LastChunk || !endsOnly(text)):
		return a2a.InvalidParams("artifact.parts", "is required")
	case e.Message != nil && e.Message.Parts == nil:
		return a2a.InvalidParams("parts", "is required")
	case e.Status != nil && e.Status.Status.Message != nil && e.Status.Status.Message.Parts == nil:
		return a2a.InvalidParams("status.message.parts", "is required")
	case e.Task != nil:
		return CheckTask(e.Task)
	default:
		return nil
	}
}

// CheckTask is Check for a task that was asked for.
func CheckTask(t *a2a.Task) error {
	for i := range t.Artifacts {
		if t.Artifacts[i].Parts == nil {
			return a2a.InvalidParams("artifacts.parts", "is required")
		}
	}
	if m := t.Status.Message; m != nil && m.Parts == nil {
		return a2a.InvalidParams("status.message.parts", "is required")
	}
	return nil
}

// endsOnly reports whether an artifact update names its artifact with members that
// are known and nothing else, and so holds no parts under another name.
func endsOnly(text []byte) bool {
	_, inner, _, err := unwrap(text)
	if err != nil {
		return false
	}
	named := false
	r := jsonread.New(inner)
	for name := range r.Members() {
		if string(name) != "artifact" || r.Kind() != '{' {
			continue
		}
		named = true
		for name := range r.Members() {
			switch string(name) {
			case "artifactId", "artifact_id", "name", "description", "metadata", "extensions":
			default:
				named = false
			}
		}
	}
	return r.End() == nil && named
}
