// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentevents decodes events that mix 0.3 and 1.0, which some agents send. The
// package is pure and does not apply events to tasks.
package agentevents

import (
	"errors"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// ErrUnknownEvent is returned for JSON that is not an event of any version.
var ErrUnknownEvent = errors.New("it is not a task, message, status update or artifact update: neither its kind nor a member names one of these")

// ErrNoTask is the error for JSON that is not a task: an event of another kind, or an object
// without an id, a state and artifacts.
var ErrNoTask = errors.New("it is not a task")

// events are the kinds of 0.3. wrappers and snakes are, in the same order, the members of
// 1.0 that contain the same objects, in camelCase and in snake_case.
var (
	events   = []string{"task", "message", "status-update", "artifact-update"}
	wrappers = []string{"task", "message", "statusUpdate", "artifactUpdate"}
	snakes   = []string{"task", "message", "status_update", "artifact_update"}
)

// DecodeEvent decodes an event that may mix 0.3 and 1.0. Servers that have moved from one
// version to the other send such events. The event may have a kind, may be the value of a
// member of 1.0, or may have neither. Its parts may be in the form of either version. If
// newer is true, the decoder of 1.0 is tried first. DecodeEvent is slower than the decoders
// of one version, so callers use it only for events that those decoders refuse.
//
// The error is the error of invalid JSON, ErrUnknownEvent, or the error of the decoder that
// was tried first.
func DecodeEvent(text []byte, newer bool) (a2a.Event, error) {
	at, inner, wrappedBy10, err := unwrap(text)
	if err != nil {
		return a2a.Event{}, err
	}
	wrapped := func() []byte { return append(append([]byte(`{"`+wrappers[at]+`":`), inner...), '}') }
	older := func() (a2a.Event, error) { return jsondecode.V03.DecodeKind(events[at], inner) }
	latest := func() (a2a.Event, error) { return jsondecode.V10.DecodeEvent(wrapped()) }
	proto := func() (a2a.Event, error) { return jsondecode.V03Proto.DecodeEvent(wrapped()) }
	if newer || wrappedBy10 {
		return first(latest, older, proto)
	}
	return first(older, latest, proto)
}

func first(decoders ...func() (a2a.Event, error)) (a2a.Event, error) {
	var refusal error
	for _, decode := range decoders {
		e, err := decode()
		if err == nil {
			err = Check(&e)
		}
		if err == nil {
			return e, nil
		}
		if jsonread.IsUnreadable(err) {
			return a2a.Event{}, err
		}
		if refusal == nil {
			refusal = err
		}
	}
	return a2a.Event{}, refusal
}

// unwrap returns the kind of an event as an index into events, and the text of the event.
// held is true if the text was the value of a member of an object of 1.0, such as
// statusUpdate.
func unwrap(text []byte) (at int, inner []byte, held bool, err error) {
	r := jsonread.New(text)
	if r.Kind() != '{' {
		r.Skip()
		if err := r.End(); err != nil {
			return 0, nil, false, err
		}
		return 0, nil, false, ErrUnknownEvent
	}
	kind := -1
	wrapper := -1
	has := map[string]bool{}
	for name := range r.Members() {
		has[string(name)] = true
		if string(name) == "kind" && r.Kind() == '"' {
			kind = slices.Index(events, r.String())
			continue
		}
		if i := max(slices.Index(wrappers, string(name)), slices.Index(snakes, string(name))); i >= 0 && r.Kind() == '{' {
			wrapper = i
			inner = r.Raw()
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
	case has["role"] && (has["parts"] || has["messageId"] || has["message_id"]):
		return 1, text, false, nil
	default:
		return 0, nil, false, ErrUnknownEvent
	}
}

// Check returns an error if an artifact or a message of the event has nil parts. The object
// then has members that the decoder does not know, and the content of these members would be
// lost. An object without such members has an empty list of parts.
func Check(e *a2a.Event) error {
	switch {
	case e.Artifact != nil && e.Artifact.Artifact.Parts == nil:
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

// CheckTask returns an error if an artifact or the status message of a task has no parts,
// as Check does for events. It also refuses an object without an id, a state and artifacts:
// such an object is not a task, and its content would be lost.
func CheckTask(t *a2a.Task) error {
	if t.ID == "" && t.Status.State == a2a.StateUnknown && len(t.Artifacts) == 0 {
		return ErrNoTask
	}
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
