// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// withID sets the id of the task in events of 0.1, in which the client chooses the id.
func (s *responder) withID(id string, events ...a2a.Event) []a2a.Event {
	if s.methods["tasks/send"] == "" {
		return events
	}
	for i := range events {
		switch e := &events[i]; {
		case e.Task != nil:
			e.Task.ID, e.Task.ContextID = id, ""
		case e.Status != nil:
			e.Status.TaskID = id
		case e.Artifact != nil:
			e.Artifact.TaskID = id
		}
	}
	return events
}

func TestStreamedTask(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		b, calls := newAgent(t, name, true, upstream.Options{}, func(s *responder, a agentRequest) {
			events := s.withID(a.task, status(a2a.StateWorking, "looking"), artifact("He", false), artifact("llo", true), status(a2a.StateCompleted))
			if name != "0.1" {
				events = append([]a2a.Event{taskEvent(task(a2a.StateSubmitted))}, events...)
			}
			s.stream(events...)
		})
		h, outcome := run(t, b, newTurn())
		want := "submitted working(looking) =He +llo completed"
		if name == "0.1" {
			want = "working(looking) =He +llo completed"
		}
		if got := h.String(); got != want || outcome != "ended" {
			t.Errorf("Run() = %q, %s, want %q", got, outcome, want)
		}
		for i := range h.events {
			if u := h.events[i].Status; u != nil && (u.TaskID != "" || u.ContextID != "" || u.Status.Message != nil && u.Status.Message.TaskID != "") {
				t.Errorf("an id of the agent comes out: %+v", u)
			}
		}
		call := calls.requests[0]
		if call.op != "stream" || call.text != "hi" || call.context == "our-context" || len(call.context) != 36 || call.header != "our-task" {
			t.Errorf("the agent received %+v", call)
		}
		if wantVersion := map[string]string{"0.1": "", "0.2": "0.3", "0.3": "0.3", "0.3 HTTP+JSON": "0.3", "1.0": "1.0", "1.0 HTTP+JSON": "1.0"}[name]; call.version != wantVersion {
			t.Errorf("A2A-Version = %q, want %q", call.version, wantVersion)
		}
	})
}

func TestTaskInOneResponse(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		b, calls := newAgent(t, name, false, upstream.Options{}, func(s *responder, a agentRequest) {
			s.respond(s.withID(a.task, taskEvent(task(a2a.StateCompleted, "one", "two")))[0])
		})
		h, outcome := run(t, b, newTurn())
		if got := h.String(); got != "working =one =two completed" || outcome != "ended" || calls.ops() != "send" {
			t.Errorf("Run() = %q, %s after %s", got, outcome, calls.ops())
		}
	})
}

func TestMessageWithoutTask(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		if name == "0.1" {
			t.Skip("0.1 always makes a task")
		}
		for _, streaming := range []bool{true, false} {
			b, _ := newAgent(t, name, streaming, upstream.Options{}, func(s *responder, _ agentRequest) {
				m := a2a.Event{Message: &a2a.Message{ID: "x", ContextID: agentContext, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hello")}}}
				if streaming {
					s.stream(m)
				} else {
					s.respond(m)
				}
			})
			if h, outcome := run(t, b, newTurn()); h.String() != "message:Hello" || outcome != "whole" {
				t.Errorf("Run() = %q, %s", h, outcome)
			}
		}
	})
}

// TestContinuedTaskKeepsTheAgentID continues a paused task on another replica.
func TestContinuedTaskKeepsTheAgentID(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		var ids []string
		handle := func(s *responder, a agentRequest) {
			if a.op == "get" {
				s.respondTask(task(a2a.StateCompleted))
				return
			}
			ids = append(ids, a.task)
			if a.text == "hi" {
				s.stream(s.withID(a.task, status(a2a.StateInputRequired, "which?"))...)
				return
			}
			// Agents begin the stream with the stored task.
			old := task(a2a.StateInputRequired)
			old.Status = statusOf(a2a.StateInputRequired, "which?")
			if name == "0.1" {
				s.stream(s.withID(a.task, status(a2a.StateWorking), status(a2a.StateCompleted))...)
				return
			}
			s.stream(taskEvent(old), status(a2a.StateWorking), status(a2a.StateCompleted))
		}
		b, _ := newAgent(t, name, true, upstream.Options{}, handle)
		first, outcome := run(t, b, newTurn())
		if first.String() != "input-required(which?)" || outcome != "whole" {
			t.Fatalf("first Run() = %q, %s", first, outcome)
		}
		replica, calls := newAgent(t, name, true, upstream.Options{}, handle)
		next := newTurn()
		next.Number, next.Message.Parts = 2, []a2a.Part{a2a.TextPart("this")}
		next.Task = &a2a.Task{ID: "our-task", ContextID: "our-context", Status: first.events[0].Status.Status, Note: first.note}
		second, outcome := run(t, replica, next)
		if second.String() != "working working completed" && second.String() != "working completed" || outcome != "ended" {
			t.Errorf("second Run() = %q, %s", second, outcome)
		}
		wantID, wantContext := agentTask, agentContext
		if name == "0.1" {
			wantID, wantContext = ids[0], calls.requests[0].context
		}
		if got := calls.requests[0]; got.task != wantID || got.context != wantContext {
			t.Errorf("the request is for task %s in %s, want %s in %s", got.task, got.context, wantID, wantContext)
		}
	})
}

// TestContextsOfOwnersDiffer checks that the same context id of two owners leads to two
// contexts of the agent.
func TestContextsOfOwnersDiffer(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		b, calls := newAgent(t, name, false, upstream.Options{}, func(s *responder, a agentRequest) {
			done := task(a2a.StateCompleted, "x")
			done.ContextID = a.context
			s.respond(s.withID(a.task, taskEvent(done))[0])
		})
		other := newTurn()
		other.Owner = "bob"
		for _, turn := range []*backend.Turn{newTurn(), newTurn(), other} {
			run(t, b, turn)
		}
		a, again, bob := calls.requests[0].context, calls.requests[1].context, calls.requests[2].context
		if a != again || a == bob || a == "" {
			t.Errorf("contexts are %s, %s and %s", a, again, bob)
		}
	})
}

// TestContextIDOfTheAgentIsUsed tests an agent that chooses its context ids itself.
func TestContextIDOfTheAgentIsUsed(t *testing.T) {
	t.Parallel()
	b, calls := newAgent(t, "1.0", false, upstream.Options{}, func(s *responder, _ agentRequest) { s.respond(taskEvent(task(a2a.StateCompleted, "x"))) })
	run(t, b, newTurn())
	run(t, b, newTurn())
	if got := calls.requests[1].context; got != agentContext {
		t.Errorf("the request is for context %s, want %s", got, agentContext)
	}
}

func TestReferencedTasksHaveAgentIDs(t *testing.T) {
	t.Parallel()
	b, calls := newAgent(t, "1.0", false, upstream.Options{}, func(s *responder, _ agentRequest) { s.respond(taskEvent(task(a2a.StateCompleted, "x"))) })
	h, _ := run(t, b, newTurn())
	next := newTurn()
	next.Message.ReferenceTasks = []string{"our-task", "unknown"}
	next.References = []*a2a.Task{{ID: "our-task", Note: h.note}, {ID: "unknown"}, {ID: "odd", Note: "no JSON"}}
	run(t, b, next)
	if diff := cmp.Diff([]string{agentTask}, calls.requests[1].references); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// TestTenantOfTheCardIsInThePath checks that, over HTTP+JSON, the tenant of the card is a
// segment of every path, and that the tenant of the client is not used.
func TestTenantOfTheCardIsInThePath(t *testing.T) {
	t.Parallel()
	const offered = `{"supportedInterfaces":[{"url":"/api","protocolBinding":"HTTP+JSON","protocolVersion":%q,"tenant":%q}]}`
	for _, tt := range []struct{ version, tenant, want string }{
		{"1.0", "", "/api/message:send /api/tasks/a"},
		{"1.0", "a b", "/api/a%20b/message:send /api/a%20b/tasks/a"},
		{"0.3", "a b", "/api/v1/message:send /api/v1/tasks/a"},
	} {
		var paths []string
		mux := http.NewServeMux()
		mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, offered, tt.version, tt.tenant)
		})
		mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
			paths = append(paths, r.URL.EscapedPath())
			if r.Method == http.MethodPost {
				_, _ = io.WriteString(w, `{"task":{"id":"a","status":{"state":"TASK_STATE_WORKING"}}}`)
				return
			}
			_, _ = io.WriteString(w, `{"id":"a","status":{"state":"TASK_STATE_COMPLETED"}}`)
		})
		server := httptest.NewServer(mux)
		b, err := upstream.New(upstream.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		of := newTurn()
		of.Tenant = "v1"
		if _, outcome := run(t, b, of); outcome != "ended" || strings.Join(paths, " ") != tt.want {
			t.Errorf("%s, %q: Run() = %s after %s, want %s", tt.version, tt.tenant, outcome, paths, tt.want)
		}
		b.Close()
		server.Close()
	}
}

// TestArtifactsWithoutIDsAreEmittedOnce checks that repeated artifacts without ids or with
// the same id do not count as progress.
func TestArtifactsWithoutIDsAreEmittedOnce(t *testing.T) {
	t.Parallel()
	b := newRawAgent(t, "0.3", upstream.Options{Limits: stream.Limits{Idle: 900 * time.Millisecond}}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"a","status":{"state":"working"},"artifacts":[
			{"parts":[{"kind":"text","text":"1"}]},{"parts":[{"kind":"text","text":"2"}]},
			{"artifactId":"x","parts":[{"kind":"text","text":"old"}]},{"artifactId":"x","parts":[{"kind":"text","text":"new"}]}]}}`)
	})
	h, outcome := run(t, b, newTurn())
	if got, want := h.String(), "working =1 =2 =new working"; got != want || outcome != "failed: The agent was silent for 900ms" {
		t.Errorf("Run() = %q, %s, want %q", got, outcome, want)
	}
	names := map[string]bool{}
	for i := range h.events {
		if u := h.events[i].Artifact; u != nil {
			names[u.Artifact.ID] = true
		}
	}
	if len(names) != 3 || !names[""] || !names["artifact-1"] {
		t.Errorf("artifacts are called %v", names)
	}
}
