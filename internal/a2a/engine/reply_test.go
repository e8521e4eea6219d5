// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

var continuePaused = engine.Options{ContinuePaused: func() bool { return true }}

// withContext names the context of a message.
func withContext(r *a2a.SendRequest, contextID string) *a2a.SendRequest {
	r.Message.ContextID = contextID
	return r
}

// wantContinues requires that c is the turn with the given number of a task that exists.
func wantContinues(t *testing.T, c *call, task string, number int) {
	t.Helper()
	if c.TaskID != task || c.Number != number || c.Task == nil {
		t.Errorf("the agent was called for turn %d of task %s, want turn %d of task %s", c.Number, c.TaskID, number, task)
	}
}

func TestReplyInAContextContinuesThePausedTask(t *testing.T) {
	for _, state := range []a2a.State{a2a.StateInputRequired, a2a.StateAuthRequired} {
		t.Run(state.String(), func(t *testing.T) {
			withEngine(t, continuePaused, func(t *testing.T, b *fixture) {
				b.send(withContext(newRequest("m1", "hi"), "c"))
				c := b.nextCall()
				c.mustEmit(status(state, "what?"))
				c.endRun(nil)
				reply := b.send(withContext(newRequest("m2", "that"), "c"))
				next := b.nextCall()
				wantContinues(t, next, c.TaskID, 2)
				again := b.send(withContext(newRequest("m2", "that"), "c"))
				next.finishTask(status(a2a.StateCompleted))
				for _, s := range []*pendingSend{reply, again} {
					if s.result() != "task:completed" || s.event.Task.ID != c.TaskID {
						t.Errorf("Send() = %s", s.result())
					}
				}
				wantNewTask(t, b.send(withContext(newRequest("m3", "more"), "c")), b.nextCall(), c.TaskID)
			})
		})
	}
}

func TestReplyReachesThePausedRun(t *testing.T) {
	withEngine(t, continuePaused, func(t *testing.T, b *fixture) {
		b.send(withContext(newRequest("m1", "hi"), "c"))
		c := b.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "what?"))
		answer := b.send(withContext(newRequest("m2", "that"), "c"))
		input := b.nextCall()
		if !input.Input || input.TaskID != c.TaskID {
			t.Errorf("the agent is asked %+v", input.Turn)
		}
		// Another message already answers the task, so this message is no reply to it.
		other := b.send(withContext(newRequest("m3", "this"), "c"))
		wantNewTask(t, other, b.nextCall(), c.TaskID)
		input.endRun(backend.ErrInputAccepted)
		c.finishTask(status(a2a.StateCompleted))
		answer.want(t, "task:completed")
	})
}

// A reply continues only the single paused task of the same owner, tenant and context.
func TestReplyContinuesOnlyASinglePausedTask(t *testing.T) {
	tests := map[string]struct {
		options engine.Options
		before  func(b *fixture)
		reply   func() *a2a.SendRequest
	}{
		"not asked for": {reply: func() *a2a.SendRequest { return withContext(newRequest("m2", "that"), "c") }},
		"no context":    {options: continuePaused, reply: func() *a2a.SendRequest { return newRequest("m2", "that") }},
		"other context": {options: continuePaused, reply: func() *a2a.SendRequest { return withContext(newRequest("m2", "that"), "d") }},
		"other owner": {options: continuePaused, reply: func() *a2a.SendRequest {
			r := withContext(newRequest("m2", "that"), "c")
			r.Owner = "other"
			return r
		}},
		"other tenant": {options: continuePaused, reply: func() *a2a.SendRequest {
			r := withContext(newRequest("m2", "that"), "c")
			r.Owner = r.Owner.In("tenant")
			return r
		}},
		"two are paused": {
			options: continuePaused,
			before: func(b *fixture) {
				other := newRequest("m0", "hi")
				other.Message.ContextID, other.Message.TaskID, other.ClientTaskID = "c", "named", true
				b.send(other)
				b.nextCall().askAndEnd("which?")
			},
			reply: func() *a2a.SendRequest { return withContext(newRequest("m2", "that"), "c") },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			withEngine(t, tt.options, func(t *testing.T, b *fixture) {
				b.send(withContext(newRequest("m1", "hi"), "c"))
				c := b.nextCall()
				c.askAndEnd("what?")
				if tt.before != nil {
					tt.before(b)
				}
				wantNewTask(t, b.send(tt.reply()), b.nextCall(), c.TaskID)
				if got := b.task(c.TaskID).Status.State; got != a2a.StateInputRequired {
					t.Errorf("the paused task is %s", got)
				}
			})
		})
	}
}

func TestConcurrentRepliesContinueATaskOnce(t *testing.T) {
	for range 20 {
		withTwoReplicas(t, continuePaused, func(t *testing.T, a, b *replica) {
			a.send(withContext(newRequest("m1", "hi"), "c"))
			c := a.nextCall()
			c.askAndEnd("what?")
			replies := make([]*pendingSend, 2)
			for i, p := range []*replica{a, b} {
				s := &pendingSend{done: make(chan struct{})}
				replies[i] = s
				r := withContext(newRequest("r"+p.member.Self().Name(), "that"), "c")
				go func() {
					defer close(s.done)
					s.event, s.err = p.Send(t.Context(), r)
				}()
			}
			synctest.Wait()
			continued := 0
			for range 2 {
				var next *call
				select {
				case next = <-a.calls:
				case next = <-b.calls:
				}
				if next.TaskID == c.TaskID {
					continued++
				}
				next.finishTask(status(a2a.StateCompleted))
			}
			for _, s := range replies {
				s.want(t, "task:completed")
			}
			if continued != 1 || replies[0].event.Task.ID == replies[1].event.Task.ID {
				t.Errorf("%d of two replies continued the task, want 1", continued)
			}
		})
	}
}

// hookedStore calls a function after the search for paused tasks.
type hookedStore struct {
	store.Store
	then func()
}

func (s *hookedStore) Paused(ctx context.Context, c store.Conversation) ([]string, error) {
	ids, err := s.Store.Paused(ctx, c)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return ids, err
}

func TestReplyToATaskCanceledConcurrently(t *testing.T) {
	between := &hookedStore{Store: memory.New(memory.Options{})}
	options := continuePaused
	options.Store = between
	withEngine(t, options, func(t *testing.T, b *fixture) {
		b.send(withContext(newRequest("m1", "hi"), "c"))
		c := b.nextCall()
		c.askAndEnd("what?")
		between.then = func() {
			if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: c.TaskID}); err != nil {
				t.Error(err)
			}
		}
		wantNewTask(t, b.send(withContext(newRequest("m2", "that"), "c")), b.nextCall(), c.TaskID)
	})
}

// hookedMember is a hookedStore for one replica.
type hookedMember struct {
	store.Member
	then func()
}

func (m *hookedMember) Paused(ctx context.Context, c store.Conversation) ([]string, error) {
	ids, err := m.Member.Paused(ctx, c)
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return ids, err
}

// Another replica cancels or continues the task that this replica is about to continue.
func TestReplyToATaskContinuedByAnotherReplica(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, b *replica, task string){
		"canceled": func(t *testing.T, b *replica, task string) {
			if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: task}); err != nil {
				t.Error(err)
			}
		},
		"continued": func(t *testing.T, b *replica, task string) {
			go func() { _, _ = b.Send(t.Context(), returnImmediately(withTask(newRequest("m3", "this"), task))) }()
			c := <-b.calls
			go func() { <-c.ctx.Done() }()
		},
	} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, continuePaused, func(t *testing.T, a, b *replica) {
				a.send(withContext(newRequest("m1", "hi"), "c"))
				c := a.nextCall()
				c.askAndEnd("what?")
				a.member.Member = &hookedMember{Member: a.member.Member, then: func() { act(t, b, c.TaskID) }}
				s := a.send(withContext(newRequest("m2", "that"), "c"))
				next := a.nextCall()
				// The claim names the new task, in which other replicas find the message.
				again := b.send(withContext(newRequest("m2", "that"), "c"))
				wantNewTask(t, s, next, c.TaskID)
				if again.result() != "task:completed" || again.event.Task.ID != next.TaskID {
					t.Errorf("Send() of the same message elsewhere = %s", again.result())
				}
			})
		})
	}
}

// Another replica has the paused run, so the reply is forwarded to it.
func TestReplyIsForwarded(t *testing.T) {
	withTwoReplicas(t, continuePaused, func(t *testing.T, a, b *replica) {
		a.send(withContext(newRequest("m1", "hi"), "c"))
		c := a.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "what?"))
		answer := b.send(withContext(newRequest("m2", "that"), "c"))
		input := a.nextCall()
		if !input.Input || input.TaskID != c.TaskID {
			t.Errorf("the agent is asked %+v", input.Turn)
		}
		again := a.send(withContext(newRequest("m2", "that"), "c"))
		input.endRun(backend.ErrInputAccepted)
		c.finishTask(status(a2a.StateCompleted))
		for _, s := range []*pendingSend{answer, again} {
			if s.result() != "task:completed" || s.event.Task.ID != c.TaskID {
				t.Errorf("Send() = %s", s.result())
			}
		}
		b.wantNoCall()
	})
}

// The replica that accepted the reply dies. The reply is in the log of the task, so that
// a copy of it begins no second turn.
func TestReplyIsDeduplicatedAfterACrash(t *testing.T) {
	options := continuePaused
	options.Retry = retry
	withTwoReplicas(t, options, func(t *testing.T, a, b *replica) {
		a.send(withContext(newRequest("m1", "hi"), "c"))
		c := a.nextCall()
		c.askAndEnd("what?")
		a.send(withContext(newRequest("m2", "that"), "c"))
		a.nextCall().mustEmit(chunk("x"))
		a.crash()
		again := b.send(withContext(newRequest("m2", "that"), "c"))
		next := <-b.calls // once the lease has ended
		if next.TaskID != c.TaskID || next.Attempt != 2 {
			t.Errorf("the agent was called for attempt %d of task %s", next.Attempt, next.TaskID)
		}
		next.finishTask(status(a2a.StateCompleted))
		if again.result() != "task:completed" || again.event.Task.ID != c.TaskID {
			t.Errorf("Send() = %s", again.result())
		}
		b.wantNoCall()
		// A later message in the context begins a new task, because the task has ended.
		wantNewTask(t, b.send(withContext(newRequest("m4", "more"), "c")), b.nextCall(), c.TaskID)
	})
}

// Replica b takes over the turn of a message. When a reply continues the task, b also
// forgets this message, so that a copy of it begins a new task.
func TestDeduplicationEndsAfterATakeover(t *testing.T) {
	options := continuePaused
	options.Retry = retry
	withTwoReplicas(t, options, func(t *testing.T, a, b *replica) {
		a.send(withContext(newRequest("m1", "hi"), "c"))
		a.nextCall().mustEmit(chunk("x"))
		a.crash()
		again := b.send(withContext(newRequest("m1", "hi"), "c"))
		c := <-b.calls
		if again.pending(); c.Attempt != 2 {
			t.Errorf("the agent was called for attempt %d", c.Attempt)
		}
		c.askAndEnd("what?")
		reply := b.send(withContext(newRequest("m2", "that"), "c"))
		next := b.nextCall()
		wantContinues(t, next, c.TaskID, 2)
		next.finishTask(status(a2a.StateCompleted))
		reply.want(t, "task:completed")
		if got := b.send(withContext(newRequest("m2", "that"), "c")).result(); got != "task:completed" {
			t.Errorf("Send() of the reply = %s", got)
		}
		wantNewTask(t, b.send(withContext(newRequest("m1", "hi"), "c")), b.nextCall(), c.TaskID)
	})
}

// TestReplyContinuesTheReferencedPausedTask checks that a message continues the paused task to which it
// refers, if its context has several.
func TestReplyContinuesTheReferencedPausedTask(t *testing.T) {
	withEngine(t, continuePaused, func(t *testing.T, b *fixture) {
		first := newRequest("m1", "hi")
		first.Message.ContextID = "c"
		first.Message.TaskID = "one"
		first.ClientTaskID = true
		second := newRequest("m2", "hi")
		second.Message.ContextID = "c"
		second.Message.TaskID = "two"
		second.ClientTaskID = true
		for _, r := range []*a2a.SendRequest{first, second} {
			b.send(r)
			b.nextCall().askAndEnd("which?")
		}
		reply := withContext(newRequest("m3", "that"), "c")
		reply.Message.ReferenceTasks = []string{"missing", "two", "two"}
		b.send(reply)
		wantContinues(t, b.nextCall(), "two", 2)
	})
}
