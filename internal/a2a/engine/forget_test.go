// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// askAndEnd asks the client for input and returns from the run.
func (c *call) askAndEnd(question string) {
	c.t.Helper()
	c.mustEmit(status(a2a.StateInputRequired, question))
	c.endRun(nil)
}

// wantNewTask requires that c is the first turn of a task other than former. It completes
// the task, and requires that s returns it.
func wantNewTask(t *testing.T, s *pendingSend, c *call, former string) {
	t.Helper()
	if c.TaskID == former || c.Number != 1 {
		t.Errorf("the agent was called for turn %d of task %s, want the first turn of a new task", c.Number, c.TaskID)
	}
	c.finishTask(status(a2a.StateCompleted))
	if got := s.result(); got != "task:completed" || s.event.Task.ID != c.TaskID {
		t.Errorf("Send() = %s", got)
	}
}

func TestDeduplicationEndsWhenTheTaskContinues(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.askAndEnd("what?")
		if got := first.result(); got != "task:input-required" {
			t.Fatalf("Send() = %s", got)
		}
		// Until the task is continued, a copy of the message joins the turn of the first copy.
		if again := b.send(newRequest("m", "hi")); again.result() != "task:input-required" {
			t.Errorf("Send() = %s", again.result())
		}
		// The client may reuse the id of the first message, because the message now
		// names a task.
		b.send(withTask(newRequest("m", "hi"), c.TaskID))
		next := b.nextCall()
		next.finishTask(status(a2a.StateCompleted))
		if again := b.send(withTask(newRequest("m", "hi"), c.TaskID)); again.result() != "task:completed" {
			t.Errorf("Send() of the continuing message = %s, want its turn", again.result())
		}
		wantNewTask(t, b.send(newRequest("m", "hi")), b.nextCall(), c.TaskID)
	})
}

func TestDeduplicationEndsWhenTheTaskIsCanceled(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: c.TaskID}); err != nil {
			t.Fatal(err)
		}
		wantNewTask(t, b.send(newRequest("m", "hi")), b.nextCall(), c.TaskID)
	})
}

// A message that continues a task ends the deduplication of the messages before it, because
// its client has received their responses. A message that was queued behind another one
// proves no such thing.
func TestQueuedMessagesDoNotEndDeduplication(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		b.send(withTask(newRequest("m2", "two"), c.TaskID))
		b.send(withTask(newRequest("m3", "three"), c.TaskID))
		c.askAndEnd("what?")
		b.nextCall().askAndEnd("and?")
		b.nextCall().askAndEnd("so?")
		for _, r := range []*a2a.SendRequest{newRequest("m1", "one"), withTask(newRequest("m2", "two"), c.TaskID), withTask(newRequest("m3", "three"), c.TaskID)} {
			if s := b.send(r); s.pending() || s.event.Task.ID != c.TaskID {
				t.Errorf("Send(%s) = %s, want its turn", r.Message.ID, s.result())
			}
		}
		b.wantNoCall()
	})
}

func TestDeduplicationOfOtherOwnersContinues(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		theirs := func() *a2a.SendRequest {
			r := newRequest("m", "hi")
			r.Owner = "other"
			return r
		}
		b.send(theirs())
		b.nextCall().askAndEnd("what?")
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.askAndEnd("what?")
		b.send(withTask(newRequest("n", "that"), c.TaskID))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		if got := b.send(theirs()).result(); got != "task:input-required" {
			t.Errorf("Send() of another owner = %s", got)
		}
		b.wantNoCall()
	})
}

// Replica a processes a message, and replica b answers a copy of it. Then b continues or
// cancels the task. After that, a further copy at a begins a new task.
func TestDeduplicationEndsAtAllReplicas(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *replica, task string){
		"continued": func(_ *testing.T, b *replica, task string) {
			b.send(withTask(newRequest("m", "hi"), task))
			b.nextCall().finishTask(status(a2a.StateCompleted))
		},
		"canceled": func(t *testing.T, b *replica, task string) {
			if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: task}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				a.send(newRequest("m", "hi"))
				c := a.nextCall()
				c.askAndEnd("what?")
				for _, p := range []*replica{a, b} {
					if s := p.send(newRequest("m", "hi")); s.result() != "task:input-required" || s.event.Task.ID != c.TaskID {
						t.Errorf("Send() before = %s", s.result())
					}
				}
				end(t, b, c.TaskID)
				again := a.send(newRequest("m", "hi"))
				next := a.nextCall()
				// The new message is deduplicated again, at both replicas.
				elsewhere := b.send(newRequest("m", "hi"))
				wantNewTask(t, again, next, c.TaskID)
				if elsewhere.result() != "task:completed" || elsewhere.event.Task.ID != next.TaskID {
					t.Errorf("Send() at the other replica = %s", elsewhere.result())
				}
				a.wantNoCall()
				b.wantNoCall()
			})
		})
	}
}

// Replica b forwards the message that continues the task to replica a, which has the paused
// run. Both replicas recognize copies of this message. Then a copy of the message that
// created the task begins a new task.
func TestContinuingMessageIsDeduplicatedAtAllReplicas(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m", "hi"))
		c := a.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "what?"))
		answer := b.send(withTask(newRequest("m", "hi"), c.TaskID))
		input := a.nextCall()
		for _, p := range []*replica{a, b} {
			if s := p.send(withTask(newRequest("m", "hi"), c.TaskID)); !s.pending() {
				t.Errorf("Send() of the same message = %s, want it to wait for the turn", s.result())
			}
		}
		input.finishTask(status(a2a.StateCompleted, "thanks"))
		answer.want(t, "task:completed")
		again := b.send(newRequest("m", "hi"))
		wantNewTask(t, again, b.nextCall(), c.TaskID)
	})
}

func TestConcurrentRepeatsCreateOneTask(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m", "hi"))
		c := a.nextCall()
		c.askAndEnd("what?")
		b.send(withTask(newRequest("n", "that"), c.TaskID))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		all := []*pendingSend{}
		for range 3 {
			all = append(all, a.send(newRequest("m", "hi")), b.send(newRequest("m", "hi")))
		}
		next := a.nextCall()
		a.wantNoCall()
		b.wantNoCall()
		next.finishTask(status(a2a.StateCompleted))
		for _, s := range all {
			if s.result() != "task:completed" || s.event.Task.ID != next.TaskID {
				t.Errorf("Send() = %s", s.result())
			}
		}
	})
}

func TestDeduplicationCanBeTurnedOffAndOn(t *testing.T) {
	var window atomic.Int64
	options := engine.Options{DeduplicationWindow: func() time.Duration { return time.Duration(window.Load()) }}
	check := func(t *testing.T, b *fixture) {
		t.Helper()
		ask := func() (*pendingSend, *call) { return b.send(newRequest("m", "hi")), b.nextCall() }
		first, c := ask()
		second, d := ask()
		c.finishTask(status(a2a.StateCompleted))
		d.finishTask(status(a2a.StateCompleted))
		if first.result() != "task:completed" || second.result() != "task:completed" || c.TaskID == d.TaskID {
			t.Errorf("Send() = %s, %s of tasks %s, %s", first.result(), second.result(), c.TaskID, d.TaskID)
		}
		window.Store(int64(10 * time.Minute))
		_, c = ask()
		c.finishTask(status(a2a.StateCompleted))
		time.Sleep(9 * time.Minute)
		if again := b.send(newRequest("m", "hi")); again.result() != "task:completed" || again.event.Task.ID != c.TaskID {
			t.Errorf("Send() within the window = %s", again.result())
		}
		b.wantNoCall()
		window.Store(int64(time.Second))
		time.Sleep(2 * time.Minute)
		_, c = ask()
		c.finishTask(status(a2a.StateCompleted))
		window.Store(0)
		_, c = ask()
		c.finishTask(status(a2a.StateCompleted))
	}
	t.Run("one replica", func(t *testing.T) {
		window.Store(0)
		withEngine(t, options, check)
	})
	t.Run("two replicas", func(t *testing.T) {
		window.Store(0)
		withTwoReplicas(t, options, func(t *testing.T, a, _ *replica) { check(t, a.fixture) })
	})
}
