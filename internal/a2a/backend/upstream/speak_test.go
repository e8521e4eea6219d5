// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"errors"
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

// each runs a test with an agent of every version.
func each(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for name := range tongues {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

// name returns an event of the agent's task under the id by which it goes: in
// 0.1 the client makes it up.
func (s *said) named(id string, events ...a2a.Event) []a2a.Event {
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

func TestStream(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		b, calls := agent(t, name, true, upstream.Options{}, func(s *said, a asked) {
			events := s.named(a.task, status(a2a.StateWorking, "looking"), artifact("He", false), artifact("llo", true), status(a2a.StateCompleted))
			if name != "0.1" {
				events = append([]a2a.Event{whole(task(a2a.StateSubmitted))}, events...)
			}
			s.streams(events...)
		})
		h, outcome := run(t, b, turn())
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
		call := calls.calls[0]
		if call.op != "stream" || call.text != "hi" || call.context == "our-context" || len(call.context) != 36 || call.header != "our-task" {
			t.Errorf("the agent was asked %+v", call)
		}
		if wantVersion := map[string]string{"0.1": "", "0.2": "0.3", "0.3": "0.3", "0.3 HTTP+JSON": "0.3", "1.0": "1.0", "1.0 HTTP+JSON": "1.0"}[name]; call.version != wantVersion {
			t.Errorf("A2A-Version = %q, want %q", call.version, wantVersion)
		}
	})
}

func TestSend(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		b, calls := agent(t, name, false, upstream.Options{}, func(s *said, a asked) {
			s.answers(s.named(a.task, whole(task(a2a.StateCompleted, "one", "two")))[0])
		})
		h, outcome := run(t, b, turn())
		if got := h.String(); got != "working =one =two completed" || outcome != "ended" || calls.ops() != "send" {
			t.Errorf("Run() = %q, %s after %s", got, outcome, calls.ops())
		}
	})
}

func TestMessage(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		if name == "0.1" {
			t.Skip("0.1 always makes a task")
		}
		for _, streaming := range []bool{true, false} {
			b, _ := agent(t, name, streaming, upstream.Options{}, func(s *said, _ asked) {
				m := a2a.Event{Message: &a2a.Message{ID: "x", ContextID: theirContext, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hello")}}}
				if streaming {
					s.streams(m)
				} else {
					s.answers(m)
				}
			})
			if h, outcome := run(t, b, turn()); h.String() != "message:Hello" || outcome != "ended" {
				t.Errorf("Run() = %q, %s", h, outcome)
			}
		}
	})
}

// A task that waits is continued under the agent's own id, by whichever replica.
func TestContinue(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		var ids []string
		handle := func(s *said, a asked) {
			if a.op == "get" {
				s.tells(task(a2a.StateCompleted))
				return
			}
			ids = append(ids, a.task)
			if a.text == "hi" {
				s.streams(s.named(a.task, status(a2a.StateInputRequired, "which?"))...)
				return
			}
			// Agents begin with the task as it was.
			old := task(a2a.StateInputRequired)
			old.Status = statusOf(a2a.StateInputRequired, "which?")
			if name == "0.1" {
				s.streams(s.named(a.task, status(a2a.StateWorking), status(a2a.StateCompleted))...)
				return
			}
			s.streams(whole(old), status(a2a.StateWorking), status(a2a.StateCompleted))
		}
		b, _ := agent(t, name, true, upstream.Options{}, handle)
		first, outcome := run(t, b, turn())
		if first.String() != "input-required(which?)" || outcome != "whole" {
			t.Fatalf("first Run() = %q, %s", first, outcome)
		}
		replica, calls := agent(t, name, true, upstream.Options{}, handle)
		next := turn()
		next.Number, next.Message.Parts = 2, []a2a.Part{a2a.TextPart("this")}
		next.Task = &a2a.Task{ID: "our-task", ContextID: "our-context", Status: first.events[0].Status.Status, Note: first.note}
		second, outcome := run(t, replica, next)
		if second.String() != "working working completed" && second.String() != "working completed" || outcome != "ended" {
			t.Errorf("second Run() = %q, %s", second, outcome)
		}
		wantID, wantContext := theirTask, theirContext
		if name == "0.1" {
			wantID, wantContext = ids[0], calls.calls[0].context
		}
		if got := calls.calls[0]; got.task != wantID || got.context != wantContext {
			t.Errorf("the agent was asked about %s in %s, want %s in %s", got.task, got.context, wantID, wantContext)
		}
	})
}

// One context of ours is one of the agent's; the same name of somebody else is
// another.
func TestContexts(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		b, calls := agent(t, name, false, upstream.Options{}, func(s *said, a asked) {
			done := task(a2a.StateCompleted)
			done.ContextID = a.context
			s.answers(s.named(a.task, whole(done))[0])
		})
		other := turn()
		other.Owner = "bob"
		for _, turn := range []*backend.Turn{turn(), turn(), other} {
			run(t, b, turn)
		}
		a, again, bob := calls.calls[0].context, calls.calls[1].context, calls.calls[2].context
		if a != again || a == bob || a == "" {
			t.Errorf("contexts are %s, %s and %s", a, again, bob)
		}
	})
}

// An agent that makes up its own contexts is told of them.
func TestContextsOfTheAgent(t *testing.T) {
	b, calls := agent(t, "1.0", false, upstream.Options{}, func(s *said, _ asked) { s.answers(whole(task(a2a.StateCompleted))) })
	run(t, b, turn())
	run(t, b, turn())
	if got := calls.calls[1].context; got != theirContext {
		t.Errorf("the agent was asked in %s, want %s", got, theirContext)
	}
}

func TestReferences(t *testing.T) {
	b, calls := agent(t, "1.0", false, upstream.Options{}, func(s *said, _ asked) { s.answers(whole(task(a2a.StateCompleted))) })
	h, _ := run(t, b, turn())
	next := turn()
	next.Message.ReferenceTasks = []string{"our-task", "unknown"}
	next.References = []*a2a.Task{{ID: "our-task", Note: h.note}, {ID: "unknown"}, {ID: "odd", Note: "no JSON"}}
	run(t, b, next)
	if diff := cmp.Diff([]string{theirTask}, calls.calls[1].references); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		for _, cause := range []error{backend.ErrCanceled, backend.ErrSuperseded} {
			b, calls := agent(t, name, true, upstream.Options{}, func(s *said, a asked) {
				if a.op == "cancel" {
					s.tells(task(a2a.StateCanceled))
					return
				}
				s.streams(s.named(a.task, status(a2a.StateWorking))...)
				<-s.r.Context().Done()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			h := &heard{each: func(*a2a.Event) { cancel(cause) }}
			if err := b.Run(ctx, turn(), h.emit); err == nil {
				t.Error("Run() error = nil")
			}
			b.Close()
			want := "stream cancel"
			if errors.Is(cause, backend.ErrSuperseded) {
				want = "stream"
			}
			if calls.ops() != want {
				t.Errorf("%v: the agent was asked to %s, want %s", cause, calls.ops(), want)
			} else if want != "stream" && name != "0.1" && calls.calls[1].task != theirTask {
				t.Errorf("canceled is %s", calls.calls[1].task)
			}
		}
	})
}

// Until the first event nobody knows what to cancel.
func TestCancelBeforeTheFirstEvent(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b, calls := agent(t, name, true, upstream.Options{}, func(s *said, a asked) {
			if a.op == "cancel" {
				s.tells(task(a2a.StateCanceled))
				return
			}
			cancel(backend.ErrCanceled)
			s.streams(s.named(a.task, status(a2a.StateWorking))...)
			<-s.r.Context().Done()
		})
		// A task that was canceled takes no more events.
		err := b.Run(ctx, turn(), func([]a2a.Event) error { return backend.ErrTurnEnded })
		b.Close()
		if outcomeOf(err) != "ended" || calls.ops() != "stream cancel" {
			t.Errorf("Run() error = %v after %s", err, calls.ops())
		}
	})
}

func TestCancelOfAPausedTask(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		b, calls := agent(t, name, true, upstream.Options{}, func(s *said, a asked) {
			if a.op == "cancel" {
				s.tells(task(a2a.StateCanceled))
				return
			}
			s.streams(s.named(a.task, status(a2a.StateInputRequired))...)
		})
		h, _ := run(t, b, turn())
		b.Canceled(t.Context(), &a2a.Task{ID: "our-task", Note: h.note})
		b.Canceled(t.Context(), &a2a.Task{ID: "of another backend"})
		b.Close()
		if calls.ops() != "stream cancel" || calls.calls[1].task != calls.calls[0].task && calls.calls[1].task != theirTask {
			t.Errorf("the agent was asked %+v", calls.calls)
		}
	})
}

// A stream that ends too early is found again where the agent still has its
// task.
func TestStreamThatEndsEarly(t *testing.T) {
	tests := map[string]struct {
		streaming bool
		// subscribe and get say what the agent has to say then.
		subscribe, get func(*said, asked)
		said, outcome  string
		// ops01 are those of 0.1, where a subscription does not begin with the task.
		ops, ops01 string
	}{
		"goes on with the subscription": {
			streaming: true,
			subscribe: func(s *said, a asked) {
				if s.methods["tasks/send"] == "" {
					s.streams(whole(task(a2a.StateWorking, "x")), artifact("y", true), status(a2a.StateCompleted))
					return
				}
				s.streams(s.named(a.task, status(a2a.StateWorking), artifact("x", false), artifact("y", true), status(a2a.StateCompleted))...)
			},
			get:  func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateCompleted, "xy")))[0].Task) },
			said: "working =x =x +y =xy completed", outcome: "ended", ops: "stream subscribe get",
		},
		"goes on with a subscription that tells an event twice": {
			streaming: true,
			subscribe: func(s *said, a asked) {
				if s.methods["tasks/send"] == "" {
					s.streams(whole(task(a2a.StateWorking, "xy")), artifact("y", true), artifact("z", true), status(a2a.StateCompleted))
					return
				}
				s.streams(s.named(a.task, status(a2a.StateCompleted))...)
			},
			get:     func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateCompleted, "xyz")))[0].Task) },
			said:    "working =x =xy +y +z =xyz completed",
			outcome: "ended", ops: "stream subscribe get",
		},
		"goes on with a subscription that begins with the end": {
			streaming: true,
			subscribe: func(s *said, a asked) {
				if s.methods["tasks/send"] == "" {
					s.streams(whole(task(a2a.StateCompleted, "xy")))
					return
				}
				s.fails(-32004)
			},
			get:     func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateCompleted, "xy")))[0].Task) },
			said:    "working =x =xy completed",
			outcome: "ended", ops: "stream subscribe", ops01: "stream subscribe get",
		},
		"goes on with a subscription that tells nothing of what was": {
			streaming: true,
			subscribe: func(s *said, a asked) { s.streams(s.named(a.task, status(a2a.StateCompleted))...) },
			get:       func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateCompleted, "xy")))[0].Task) },
			said:      "working =x =xy completed", outcome: "ended", ops: "stream subscribe get",
		},
		"goes on with such a subscription, and cannot be asked": {
			streaming: true,
			subscribe: func(s *said, a asked) { s.streams(s.named(a.task, status(a2a.StateCompleted))...) },
			get:       func(s *said, _ asked) { s.fails(-32004) },
			said:      "working =x", outcome: "failed: The agent's answer broke off, and its task could not be read",
			ops: "stream subscribe get cancel",
		},
		"is over meanwhile": {
			streaming: true,
			subscribe: func(s *said, _ asked) { s.fails(-32004) },
			get:       func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateCompleted, "xy")))[0].Task) },
			said:      "working =x =xy completed", outcome: "ended", ops: "stream subscribe get",
		},
		"ends again": {
			streaming: true,
			subscribe: func(s *said, a asked) { s.streams(s.named(a.task, status(a2a.StateWorking))...) },
			get:       func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateFailed)))[0].Task) },
			outcome:   "ended", ops: "stream subscribe get",
		},
		"asks a question meanwhile": {
			streaming: true,
			subscribe: func(s *said, _ asked) { s.fails(-32603) },
			get:       func(s *said, a asked) { s.tells(s.named(a.task, whole(task(a2a.StateInputRequired, "x")))[0].Task) },
			outcome:   "whole", ops: "stream subscribe get",
		},
		"is not known any more": {
			streaming: true,
			subscribe: func(s *said, _ asked) { s.fails(-32001) },
			get:       func(s *said, _ asked) { s.fails(-32001) },
			said:      "working =x", outcome: "failed: The agent does not know the task any more; it may have been restarted", ops: "stream subscribe get cancel",
		},
	}
	for label, tt := range tests {
		t.Run(label, func(t *testing.T) {
			each(t, func(t *testing.T, name string) {
				for _, how := range []string{"breaks", "ends"} {
					if how == "breaks" && !resubscribes(name) {
						continue // TestCutStreamBefore10IsPolled
					}
					b, calls := agent(t, name, tt.streaming, upstream.Options{}, func(s *said, a asked) {
						switch a.op {
						case "stream":
							s.streams(s.named(a.task, status(a2a.StateWorking), artifact("x", false))...)
							if how == "breaks" {
								panic(abort)
							}
						case "subscribe":
							tt.subscribe(s, a)
						case "get":
							tt.get(s, a)
						case "cancel":
							s.tells(task(a2a.StateCanceled))
						}
					})
					h, outcome := run(t, b, turn())
					b.Close()
					ops := tt.ops
					if name == "0.1" && tt.ops01 != "" {
						ops = tt.ops01
					}
					if got := h.String(); outcome != tt.outcome || calls.ops() != ops || tt.said != "" && name != "0.1" && got != tt.said {
						t.Errorf("%s: Run() = %q, %s after %s\nwant %q, %s after %s", how, got, outcome, calls.ops(), tt.said, tt.outcome, ops)
					}
				}
			})
		})
	}
}

// An agent that does not wait with its answer is asked until it has one.
func TestAnswerThatComesLater(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		gets := 0
		b, _ := agent(t, name, false, upstream.Options{}, func(s *said, a asked) {
			if a.op == "send" {
				s.answers(s.named(a.task, whole(task(a2a.StateSubmitted)))[0])
				return
			}
			gets++
			answer := []*a2a.Task{task(a2a.StateWorking), task(a2a.StateWorking, "x"), task(a2a.StateCompleted, "x", "y")}[gets-1]
			s.tells(s.named(a.task, whole(answer))[0].Task)
		})
		h, outcome := run(t, b, turn())
		if got := h.String(); got != "submitted working =x =y completed" || outcome != "ended" {
			t.Errorf("Run() = %q, %s", got, outcome)
		}
	})
}

func TestTaskThatNeverEnds(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		b, calls := agent(t, name, false, upstream.Options{Limits: stream.Limits{Idle: 600 * time.Millisecond}}, func(s *said, a asked) {
			answer := s.named(a.task, whole(task(a2a.StateWorking)))[0]
			if a.op == "send" {
				s.answers(answer)
				return
			}
			s.tells(answer.Task)
		})
		_, outcome := run(t, b, turn())
		b.Close()
		if outcome != "failed: The agent was silent for 600ms" || !strings.HasPrefix(calls.ops(), "send get ") || !strings.HasSuffix(calls.ops(), " cancel") {
			t.Errorf("Run() = %s after %s", outcome, calls.ops())
		}
	})
}

// Over HTTP+JSON a tenant is a step in every path: the one that the card names
// and no client's.
func TestTenantInPaths(t *testing.T) {
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
		of := turn()
		of.Tenant = "v1"
		if _, outcome := run(t, b, of); outcome != "ended" || strings.Join(paths, " ") != tt.want {
			t.Errorf("%s, %q: Run() = %s after %s, want %s", tt.version, tt.tenant, outcome, paths, tt.want)
		}
		b.Close()
		server.Close()
	}
}

// An artifact that has no name, or that of another, is told once, and does not keep a
// task alive that says nothing new.
func TestArtifactsWithoutNames(t *testing.T) {
	b := raw(t, "0.3", upstream.Options{Limits: stream.Limits{Idle: 900 * time.Millisecond}}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"a","status":{"state":"working"},"artifacts":[
			{"parts":[{"kind":"text","text":"1"}]},{"parts":[{"kind":"text","text":"2"}]},
			{"artifactId":"x","parts":[{"kind":"text","text":"old"}]},{"artifactId":"x","parts":[{"kind":"text","text":"new"}]}]}}`)
	})
	h, outcome := run(t, b, turn())
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
