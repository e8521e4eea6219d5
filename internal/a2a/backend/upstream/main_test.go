// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// TestMain runs many tests in parallel, because most of them wait for the delays between
// polls.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func newTurn() *backend.Turn {
	return &backend.Turn{
		TaskID: "our-task", ContextID: "our-context", Number: 1, Owner: "alice",
		Message: &a2a.Message{ID: "m1", ContextID: "our-context", TaskID: "our-task", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
	}
}

// emitted collects the events of a turn and responds as the engine does.
type emitted struct {
	events  []a2a.Event
	note    string
	onEvent func(*a2a.Event)
}

func (h *emitted) emit(events []a2a.Event) error {
	for _, e := range events {
		h.events = append(h.events, e)
		if h.onEvent != nil {
			h.onEvent(&e)
		}
		if e.Status != nil && e.Status.Note != "" {
			h.note = e.Status.Note
		}
		if e.Status != nil && e.Status.Status.State.Terminal() {
			return backend.ErrTurnEnded
		}
	}
	return nil
}

func (h *emitted) String() string {
	var all []string
	for i := range h.events {
		all = append(all, describe(&h.events[i]))
	}
	return strings.Join(all, " ")
}

func run(t *testing.T, b *upstream.Backend, turn *backend.Turn) (h *emitted, outcome string) {
	t.Helper()
	h = &emitted{}
	return h, outcomeOf(b.Run(t.Context(), turn, h.emit))
}

func outcomeOf(err error) string {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	switch {
	case err == nil:
		return "whole"
	case errors.Is(err, backend.ErrTurnEnded):
		return "ended"
	case isFailure:
		return failure.State.String() + ": " + failure.Reason
	case errors.Is(err, context.Canceled):
		return "canceled"
	default:
		return "error: " + err.Error()
	}
}

// describe returns a short form of an event without its ids.
func describe(e *a2a.Event) string {
	switch {
	case e.Message != nil:
		return "message:" + text(e.Message.Parts)
	case e.Status != nil:
		s := e.Status.Status.State.String()
		if e.Status.Status.Message != nil {
			s += "(" + text(e.Status.Status.Message.Parts) + ")"
		}
		return s
	default:
		u := e.Artifact
		s := "="
		if u.Append {
			s = "+"
		}
		return s + text(u.Artifact.Parts)
	}
}

func text(parts []a2a.Part) string {
	s := ""
	for i := range parts {
		s += parts[i].Text
	}
	return s
}

// Events of the agent.

const (
	agentTask    = "their-task"
	agentContext = "their-context"
)

func status(s a2a.State, texts ...string) a2a.Event {
	return a2a.Event{Status: &a2a.StatusUpdate{TaskID: agentTask, ContextID: agentContext, Status: statusOf(s, texts...)}}
}

func statusOf(s a2a.State, texts ...string) a2a.Status {
	out := a2a.Status{State: s}
	for _, text := range texts {
		out.Message = &a2a.Message{ID: "their-" + text, TaskID: agentTask, ContextID: agentContext, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}
	}
	return out
}

func artifact(text string, more bool) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: agentTask, ContextID: agentContext, Append: more,
		Artifact: a2a.Artifact{ID: "artifact-0", Parts: []a2a.Part{a2a.TextPart(text)}},
	}}
}

func task(s a2a.State, texts ...string) *a2a.Task {
	t := &a2a.Task{ID: agentTask, ContextID: agentContext, Status: a2a.Status{State: s}}
	for _, text := range texts {
		t.Artifacts = append(t.Artifacts, a2a.Artifact{ID: fmt.Sprintf("artifact-%d", len(t.Artifacts)), Parts: []a2a.Part{a2a.TextPart(text)}})
	}
	return t
}

func taskEvent(t *a2a.Task) a2a.Event { return a2a.Event{Task: t} }
