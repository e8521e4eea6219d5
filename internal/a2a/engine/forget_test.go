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

// asks has the agent ask its client, and end its run.
func (c *call) asks(question string) {
	c.t.Helper()
	c.must(status(a2a.StateInputRequired, question))
	c.ends(nil)
}

// wantNewTask requires that a message began a task other than the one given.
func wantNewTask(t *testing.T, s *sent, c *call, former string) {
	t.Helper()
	if c.TaskID == former || c.Number != 1 {
		t.Errorf("the agent was called for turn %d of task %s, want the first turn of a new task", c.Number, c.TaskID)
	}
	c.finishes(status(a2a.StateCompleted))
	if got := s.result(); got != "task:completed" || s.event.Task.ID != c.TaskID {
		t.Errorf("Send() = %s", got)
	}
}

func TestMessageIsForgottenOnceItsTaskWasContinued(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		first := b.send(say("m", "hi"))
		c := b.call()
		c.asks("what?")
		if got := first.result(); got != "task:input-required" {
			t.Fatalf("Send() = %s", got)
		}
		// Until then it is the same message.
		if again := b.send(say("m", "hi")); again.result() != "task:input-required" {
			t.Errorf("Send() = %s", again.result())
		}
		// The id may be that of the first message: it names a task now.
		b.send(to(say("m", "hi"), c.TaskID))
		next := b.call()
		next.finishes(status(a2a.StateCompleted))
		if again := b.send(to(say("m", "hi"), c.TaskID)); again.result() != "task:completed" {
			t.Errorf("Send() of the continuing message = %s, want its turn", again.result())
		}
		wantNewTask(t, b.send(say("m", "hi")), b.call(), c.TaskID)
	})
}

func TestMessageIsForgottenOnceItsTaskWasCanceled(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m", "hi"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: c.TaskID}); err != nil {
			t.Fatal(err)
		}
		wantNewTask(t, b.send(say("m", "hi")), b.call(), c.TaskID)
	})
}

// A message that only waited for its turn behind another says nothing about
// whether the client has the answer of that other.
func TestMessagesInAQueueAreNotForgotten(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		b.send(to(say("m2", "two"), c.TaskID))
		b.send(to(say("m3", "three"), c.TaskID))
		c.asks("what?")
		b.call().asks("and?")
		b.call().asks("so?")
		for _, r := range []*a2a.SendRequest{say("m1", "one"), to(say("m2", "two"), c.TaskID), to(say("m3", "three"), c.TaskID)} {
			if s := b.send(r); s.pending() || s.event.Task.ID != c.TaskID {
				t.Errorf("Send(%s) = %s, want its turn", r.Message.ID, s.result())
			}
		}
		b.noCall()
	})
}

func TestOtherOwnersMessagesAreNotForgotten(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		theirs := func() *a2a.SendRequest {
			r := say("m", "hi")
			r.Owner = "other"
			return r
		}
		b.send(theirs())
		b.call().asks("what?")
		b.send(say("m", "hi"))
		c := b.call()
		c.asks("what?")
		b.send(to(say("n", "that"), c.TaskID))
		b.call().finishes(status(a2a.StateCompleted))
		if got := b.send(theirs()).result(); got != "task:input-required" {
			t.Errorf("Send() of another owner = %s", got)
		}
		b.noCall()
	})
}

// Each of the replicas took the message, or was asked about it, and another one
// has the task when that is continued.
func TestMessageIsForgottenByAllReplicas(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *peer, task string){
		"continued": func(_ *testing.T, b *peer, task string) {
			b.send(to(say("m", "hi"), task))
			b.call().finishes(status(a2a.StateCompleted))
		},
		"canceled": func(t *testing.T, b *peer, task string) {
			if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: task}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
				a.send(say("m", "hi"))
				c := a.call()
				c.asks("what?")
				for _, p := range []*peer{a, b} {
					if s := p.send(say("m", "hi")); s.result() != "task:input-required" || s.event.Task.ID != c.TaskID {
						t.Errorf("Send() before = %s", s.result())
					}
				}
				end(t, b, c.TaskID)
				again := a.send(say("m", "hi"))
				next := a.call()
				// It is one message again, wherever it is sent.
				elsewhere := b.send(say("m", "hi"))
				wantNewTask(t, again, next, c.TaskID)
				if elsewhere.result() != "task:completed" || elsewhere.event.Task.ID != next.TaskID {
					t.Errorf("Send() at the other replica = %s", elsewhere.result())
				}
				a.noCall()
				b.noCall()
			})
		})
	}
}

// The replica that runs the task is brought the continuing message, and a third
// party retries that one: it is known still.
func TestContinuingMessageIsKnownAtAllReplicas(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m", "hi"))
		c := a.call()
		c.must(paused(a2a.StateInputRequired, "what?"))
		answer := b.send(to(say("m", "hi"), c.TaskID))
		input := a.call()
		for _, p := range []*peer{a, b} {
			if s := p.send(to(say("m", "hi"), c.TaskID)); !s.pending() {
				t.Errorf("Send() of the same message = %s, want it to wait for the turn", s.result())
			}
		}
		input.finishes(status(a2a.StateCompleted, "thanks"))
		if got := answer.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
		again := b.send(say("m", "hi"))
		wantNewTask(t, again, b.call(), c.TaskID)
	})
}

func TestTwoRetriesOfAForgottenMessageMakeOneTask(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m", "hi"))
		c := a.call()
		c.asks("what?")
		b.send(to(say("n", "that"), c.TaskID))
		b.call().finishes(status(a2a.StateCompleted))
		all := []*sent{}
		for range 3 {
			all = append(all, a.send(say("m", "hi")), b.send(say("m", "hi")))
		}
		next := a.call()
		a.noCall()
		b.noCall()
		next.finishes(status(a2a.StateCompleted))
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
	check := func(t *testing.T, b *bench) {
		t.Helper()
		ask := func() (*sent, *call) { return b.send(say("m", "hi")), b.call() }
		first, c := ask()
		second, d := ask()
		c.finishes(status(a2a.StateCompleted))
		d.finishes(status(a2a.StateCompleted))
		if first.result() != "task:completed" || second.result() != "task:completed" || c.TaskID == d.TaskID {
			t.Errorf("Send() = %s, %s of tasks %s, %s", first.result(), second.result(), c.TaskID, d.TaskID)
		}
		window.Store(int64(10 * time.Minute))
		_, c = ask()
		c.finishes(status(a2a.StateCompleted))
		time.Sleep(9 * time.Minute)
		if again := b.send(say("m", "hi")); again.result() != "task:completed" || again.event.Task.ID != c.TaskID {
			t.Errorf("Send() within the window = %s", again.result())
		}
		b.noCall()
		window.Store(int64(time.Second))
		time.Sleep(2 * time.Minute)
		_, c = ask()
		c.finishes(status(a2a.StateCompleted))
		window.Store(0)
		_, c = ask()
		c.finishes(status(a2a.StateCompleted))
	}
	t.Run("alone", func(t *testing.T) {
		window.Store(0)
		play(t, options, check)
	})
	t.Run("shared", func(t *testing.T) {
		window.Store(0)
		share(t, options, func(t *testing.T, a, _ *peer) { check(t, a.bench) })
	})
}
