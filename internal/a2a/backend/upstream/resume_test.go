// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// TestStreamThatEndsEarlyIsResumed tests agents that still have the task after the early
// end of its stream.
func TestStreamThatEndsEarlyIsResumed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		streaming bool
		// subscribe and get are the responses of the agent to these operations.
		subscribe, get  func(*responder, agentRequest)
		output, outcome string
		// ops01 are the operations in 0.1, where a subscription does not begin with the
		// task.
		ops, ops01 string
	}{
		"continues with the subscription": {
			streaming: true,
			subscribe: func(s *responder, a agentRequest) {
				if s.methods["tasks/send"] == "" {
					s.stream(taskEvent(task(a2a.StateWorking, "x")), artifact("y", true), status(a2a.StateCompleted))
					return
				}
				s.stream(s.withID(a.task, status(a2a.StateWorking), artifact("x", false), artifact("y", true), status(a2a.StateCompleted))...)
			},
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateCompleted, "xy")))[0].Task)
			},
			output: "working =x =x +y =xy completed", outcome: "ended", ops: "stream subscribe get",
		},
		"continues with a subscription that repeats an event": {
			streaming: true,
			subscribe: func(s *responder, a agentRequest) {
				if s.methods["tasks/send"] == "" {
					s.stream(taskEvent(task(a2a.StateWorking, "xy")), artifact("y", true), artifact("z", true), status(a2a.StateCompleted))
					return
				}
				s.stream(s.withID(a.task, status(a2a.StateCompleted))...)
			},
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateCompleted, "xyz")))[0].Task)
			},
			output:  "working =x =xy +y +z =xyz completed",
			outcome: "ended", ops: "stream subscribe get",
		},
		"continues with a subscription that begins with the final state": {
			streaming: true,
			subscribe: func(s *responder, a agentRequest) {
				if s.methods["tasks/send"] == "" {
					s.stream(taskEvent(task(a2a.StateCompleted, "xy")))
					return
				}
				s.respondError(-32004)
			},
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateCompleted, "xy")))[0].Task)
			},
			output:  "working =x =xy completed",
			outcome: "ended", ops: "stream subscribe", ops01: "stream subscribe get",
		},
		"continues with a subscription without earlier output": {
			streaming: true,
			subscribe: func(s *responder, a agentRequest) { s.stream(s.withID(a.task, status(a2a.StateCompleted))...) },
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateCompleted, "xy")))[0].Task)
			},
			output: "working =x =xy completed", outcome: "ended", ops: "stream subscribe get",
		},
		"continues with a subscription without earlier output, and GetTask fails": {
			streaming: true,
			subscribe: func(s *responder, a agentRequest) { s.stream(s.withID(a.task, status(a2a.StateCompleted))...) },
			get:       func(s *responder, _ agentRequest) { s.respondError(-32004) },
			output:    "working =x", outcome: "failed: The agent's answer broke off, and its task could not be read",
			ops: "stream subscribe get cancel",
		},
		"has ended meanwhile": {
			streaming: true,
			subscribe: func(s *responder, _ agentRequest) { s.respondError(-32004) },
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateCompleted, "xy")))[0].Task)
			},
			output: "working =x =xy completed", outcome: "ended", ops: "stream subscribe get",
		},
		"ends again": {
			streaming: true,
			subscribe: func(s *responder, a agentRequest) { s.stream(s.withID(a.task, status(a2a.StateWorking))...) },
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateFailed)))[0].Task)
			},
			outcome: "ended", ops: "stream subscribe get",
		},
		"asks a question meanwhile": {
			streaming: true,
			subscribe: func(s *responder, _ agentRequest) { s.respondError(-32603) },
			get: func(s *responder, a agentRequest) {
				s.respondTask(s.withID(a.task, taskEvent(task(a2a.StateInputRequired, "x")))[0].Task)
			},
			outcome: "whole", ops: "stream subscribe get",
		},
		"is not known any more": {
			streaming: true,
			subscribe: func(s *responder, _ agentRequest) { s.respondError(-32001) },
			get:       func(s *responder, _ agentRequest) { s.respondError(-32001) },
			output:    "working =x", outcome: "failed: The agent no longer has the task; it may have been restarted", ops: "stream subscribe get cancel",
		},
	}
	for label, tt := range tests {
		t.Run(label, func(t *testing.T) {
			forEachDialect(t, func(t *testing.T, name string) {
				for _, how := range []string{"breaks", "ends"} {
					if how == "breaks" && !resubscribes(name) {
						continue // see TestCutStreamBeforeV10IsPolled
					}
					b, calls := newAgent(t, name, tt.streaming, upstream.Options{}, func(s *responder, a agentRequest) {
						switch a.op {
						case "stream":
							s.stream(s.withID(a.task, status(a2a.StateWorking), artifact("x", false))...)
							if how == "breaks" {
								panic(abort)
							}
						case "subscribe":
							tt.subscribe(s, a)
						case "get":
							tt.get(s, a)
						case "cancel":
							s.respondTask(task(a2a.StateCanceled))
						}
					})
					h, outcome := run(t, b, newTurn())
					b.Close()
					ops := tt.ops
					if name == "0.1" && tt.ops01 != "" {
						ops = tt.ops01
					}
					if got := h.String(); outcome != tt.outcome || calls.ops() != ops || tt.output != "" && name != "0.1" && got != tt.output {
						t.Errorf("%s: Run() = %q, %s after %s\nwant %q, %s after %s", how, got, outcome, calls.ops(), tt.output, tt.outcome, ops)
					}
				}
			})
		})
	}
}

// TestUnfinishedTaskIsPolled tests an agent that responds before its task has ended.
func TestUnfinishedTaskIsPolled(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		gets := 0
		b, _ := newAgent(t, name, false, upstream.Options{}, func(s *responder, a agentRequest) {
			if a.op == "send" {
				s.respond(s.withID(a.task, taskEvent(task(a2a.StateSubmitted)))[0])
				return
			}
			gets++
			answer := []*a2a.Task{task(a2a.StateWorking), task(a2a.StateWorking, "x"), task(a2a.StateCompleted, "x", "y")}[gets-1]
			s.respondTask(s.withID(a.task, taskEvent(answer))[0].Task)
		})
		h, outcome := run(t, b, newTurn())
		if got := h.String(); got != "submitted working =x =y completed" || outcome != "ended" {
			t.Errorf("Run() = %q, %s", got, outcome)
		}
	})
}

func TestTaskWithoutProgressFails(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		b, calls := newAgent(t, name, false, upstream.Options{Limits: stream.Limits{Idle: 600 * time.Millisecond}}, func(s *responder, a agentRequest) {
			answer := s.withID(a.task, taskEvent(task(a2a.StateWorking)))[0]
			if a.op == "send" {
				s.respond(answer)
				return
			}
			s.respondTask(answer.Task)
		})
		_, outcome := run(t, b, newTurn())
		b.Close()
		if outcome != "failed: The agent was silent for 600ms" || !strings.HasPrefix(calls.ops(), "send get ") || !strings.HasSuffix(calls.ops(), " cancel") {
			t.Errorf("Run() = %s after %s", outcome, calls.ops())
		}
	})
}
