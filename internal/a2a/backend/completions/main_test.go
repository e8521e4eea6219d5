// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newModel starts a model server and returns a backend for it.
func newModel(t *testing.T, o options, h http.HandlerFunc) *caller {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.URL = server.URL + o.URL
	if o.Key == nil {
		o.Key = func() string { return "" }
	}
	if o.RefreshKey == nil {
		o.RefreshKey = o.Key
	}
	b, err := newCaller(o)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	t.Cleanup(b.Close)
	return b
}

func withModel(o options) options {
	o.Model = "m"
	return o
}

// respondsWith returns a handler that responds to each request with the same pieces, and
// flushes each piece.
func respondsWith(contentType string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func newTurn(parts ...a2a.Part) *backend.Turn {
	if len(parts) == 0 {
		parts = []a2a.Part{a2a.TextPart("hi")}
	}
	return &backend.Turn{
		TaskID: "t1", ContextID: "c1", Number: 1, Owner: "alice",
		Message: &a2a.Message{ID: "m1", ContextID: "c1", TaskID: "t1", Role: a2a.RoleUser, Parts: parts},
	}
}

// run runs a turn and returns a short form of its events and of its outcome. It sets
// failure to the error of a failed turn.
func run(t *testing.T, b *caller, turn *backend.Turn, failure ...**backend.TurnError) (output, outcome string) {
	t.Helper()
	var all []string
	err := b.Run(t.Context(), turn, func(events []a2a.Event) error {
		for i := range events {
			all = append(all, describe(&events[i]))
			if s := events[i].Status; s != nil && s.Status.State.Terminal() {
				return backend.ErrTurnEnded
			}
		}
		return nil
	})
	for _, each := range failure {
		*each, _ = errors.AsType[*backend.TurnError](err)
	}
	// If the last chunk and the end of the stream arrive in separate reads, the backend
	// emits an empty last chunk. This replacement makes the result the same in both cases.
	return strings.ReplaceAll(strings.Join(all, " "), " turn-1+/last", "/last"), outcomeOf(err)
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
	default:
		return "error: " + err.Error()
	}
}

// describe returns a short form of an event.
func describe(e *a2a.Event) string {
	if u := e.Artifact; u != nil {
		s := u.Artifact.ID + "="
		if u.Append {
			s = u.Artifact.ID + "+"
		}
		for i := range u.Artifact.Parts {
			s += u.Artifact.Parts[i].Text + string(u.Artifact.Parts[i].Data)
		}
		if u.LastChunk {
			s += "/last"
		}
		return s
	}
	s := e.Status.Status.State.String()
	if e.Status.Status.Message != nil {
		s += "(" + e.Status.Status.Message.Parts[0].Text + ")"
	}
	return s + string(e.Status.Metadata)
}
