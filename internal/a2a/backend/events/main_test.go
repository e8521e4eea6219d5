// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newAgent starts an agent and returns a backend for it.
func newAgent(t *testing.T, o events.Options, h http.HandlerFunc) *events.Backend {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.URL = server.URL
	return newBackend(t, o)
}

func newBackend(t *testing.T, o events.Options) *events.Backend {
	t.Helper()
	if o.Internal == nil {
		o.Internal = func(string) {}
	}
	b, err := events.New(o)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	t.Cleanup(b.Close)
	return b
}

// respondsWith responds to each request with the same body.
func respondsWith(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// streamsPieces returns a handler that responds with pieces, without a Content-Length.
func streamsPieces(contentType string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func newTurn() *backend.Turn {
	return &backend.Turn{
		TaskID: "t1", ContextID: "c1", Number: 1, Owner: "alice",
		Message: &a2a.Message{ID: "m1", ContextID: "c1", TaskID: "t1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
	}
}

// emitted collects the events of a turn and responds as the engine does.
type emitted struct {
	events []a2a.Event
	// each is called with every event. It may be nil.
	each func(*a2a.Event)
}

func (h *emitted) emit(events []a2a.Event) error {
	for _, e := range events {
		h.events = append(h.events, e)
		if h.each != nil {
			h.each(&e)
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

// run runs a turn and returns a short form of its events and of its outcome.
func run(t *testing.T, b *events.Backend) (output, outcome string) {
	t.Helper()
	h := &emitted{}
	err := b.Run(t.Context(), newTurn(), h.emit)
	return h.String(), outcomeOf(err)
}

func outcomeOf(err error) string {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	switch {
	case err == nil:
		return "whole"
	case errors.Is(err, backend.ErrTurnEnded):
		return "ended"
	case errors.Is(err, backend.ErrInputAccepted):
		return "taken"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case isFailure:
		return failure.State.String() + ": " + failure.Reason
	default:
		return "error: " + err.Error()
	}
}

// describe returns a short form of an event.
func describe(e *a2a.Event) string {
	switch {
	case e.Task != nil:
		return "task:" + e.Task.Status.State.String()
	case e.Message != nil:
		return "message:" + parts(e.Message.Parts)
	case e.Status != nil:
		s := "status:" + e.Status.Status.State.String()
		if e.Status.Status.Message != nil {
			s += "(" + parts(e.Status.Status.Message.Parts) + ")"
		}
		if e.Status.Paused {
			s += "/paused"
		}
		return s
	default:
		u := e.Artifact
		s := u.Artifact.ID + "="
		if u.Append {
			s = u.Artifact.ID + "+"
		}
		if s += parts(u.Artifact.Parts); u.LastChunk {
			s += "/last"
		}
		return s
	}
}

func parts(parts []a2a.Part) string {
	s := ""
	for i := range parts {
		p := &parts[i]
		switch p.Content {
		case a2a.ContentRaw:
			s += "raw[" + p.MediaType + " " + p.Filename + "]" + string(p.Raw)
		case a2a.ContentURL:
			s += "url[" + p.MediaType + "]" + p.URL
		case a2a.ContentData:
			s += "data" + string(p.Data)
		default:
			s += p.Text
		}
	}
	return s
}
