// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

func TestCancelCancelsTheAgentTask(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		for _, cause := range []error{backend.ErrCanceled, backend.ErrSuperseded} {
			b, calls := newAgent(t, name, true, upstream.Options{}, func(s *responder, a agentRequest) {
				if a.op == "cancel" {
					s.respondTask(task(a2a.StateCanceled))
					return
				}
				s.stream(s.withID(a.task, status(a2a.StateWorking))...)
				<-s.r.Context().Done()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			h := &emitted{onEvent: func(*a2a.Event) { cancel(cause) }}
			if err := b.Run(ctx, newTurn(), h.emit); err == nil {
				t.Error("Run() error = nil")
			}
			b.Close()
			want := "stream cancel"
			if errors.Is(cause, backend.ErrSuperseded) {
				want = "stream"
			}
			if calls.ops() != want {
				t.Errorf("%v: the agent was asked to %s, want %s", cause, calls.ops(), want)
			} else if want != "stream" && name != "0.1" && calls.requests[1].task != agentTask {
				t.Errorf("canceled is %s", calls.requests[1].task)
			}
		}
	})
}

// TestCancelWaitsForTheFirstEvent checks that a run whose task is canceled first waits for
// the id of the agent's task.
func TestCancelWaitsForTheFirstEvent(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b, calls := newAgent(t, name, true, upstream.Options{}, func(s *responder, a agentRequest) {
			if a.op == "cancel" {
				s.respondTask(task(a2a.StateCanceled))
				return
			}
			cancel(backend.ErrCanceled)
			s.stream(s.withID(a.task, status(a2a.StateWorking))...)
			<-s.r.Context().Done()
		})
		// The engine accepts no events for a canceled task.
		err := b.Run(ctx, newTurn(), func([]a2a.Event) error { return backend.ErrTurnEnded })
		b.Close()
		if outcomeOf(err) != "ended" || calls.ops() != "stream cancel" {
			t.Errorf("Run() error = %v after %s", err, calls.ops())
		}
	})
}

func TestCancelOfAPausedTaskCancelsTheAgentTask(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		b, calls := newAgent(t, name, true, upstream.Options{}, func(s *responder, a agentRequest) {
			if a.op == "cancel" {
				s.respondTask(task(a2a.StateCanceled))
				return
			}
			s.stream(s.withID(a.task, status(a2a.StateInputRequired, "which?"))...)
		})
		h, _ := run(t, b, newTurn())
		b.Canceled(t.Context(), &a2a.Task{ID: "our-task", Note: h.note})
		b.Canceled(t.Context(), &a2a.Task{ID: "of another backend"})
		b.Close()
		if calls.ops() != "stream cancel" || calls.requests[1].task != calls.requests[0].task && calls.requests[1].task != agentTask {
			t.Errorf("the agent was asked %+v", calls.requests)
		}
	})
}
