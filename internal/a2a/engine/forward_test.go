// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// A message that was refused, since nobody could say whether the other replica
// got it, is sent again when that has worked on it: it is the same message.
func TestMessageThatWasWorkedOnIsNotWorkedOnAgain(t *testing.T) {
	tests := map[string]struct {
		end  []a2a.Event
		want string
	}{
		"the task waits": {[]a2a.Event{chunk("x"), status(a2a.StateInputRequired, "and?")}, "task:input-required"},
		"it has ended":   {[]a2a.Event{chunk("x"), status(a2a.StateCompleted)}, "task:completed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
				time.Sleep(time.Minute)
				a.send(now(say("m1", "hi")))
				c := a.call()
				c.must(status(a2a.StateWorking))
				b.line.deaf.Store(true)
				if got := b.send(to(say("m2", "that"), c.TaskID)).result(); got != string(a2a.ReasonUnavailable) {
					t.Fatalf("Send() = %s", got)
				}
				b.line.deaf.Store(false)
				c.must(status(a2a.StateInputRequired, "what?"))
				c.ends(nil)
				second := a.call()
				_ = second.says(tt.end...)
				second.ends(nil)
				again := b.send(to(say("m2", "that"), c.TaskID))
				b.noCall()
				a.noCall()
				if got := again.result(); got != tt.want {
					t.Errorf("Send() = %s, want %s", got, tt.want)
				}
				if tt.want == "task:completed" {
					return
				}
				// Other words are another message, whatever their sender calls it, and so
				// are the same a while later.
				b.send(to(say("m2", "no, this"), c.TaskID))
				third := b.call()
				third.must(status(a2a.StateInputRequired, "and?"))
				third.ends(nil)
				time.Sleep(2 * time.Minute)
				b.send(to(say("m2", "no, this"), c.TaskID))
				b.call().finishes(status(a2a.StateCompleted))
			})
		})
	}
}

// What became of a message is in the log of its task, if the other replica cannot
// tell.
func TestLostAnswerOfAnotherReplica(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		a.send(now(say("m1", "hi")))
		c := a.call()
		c.must(status(a2a.StateWorking))
		s := b.send(to(say("m2", "that"), c.TaskID))
		a.line.dumb.Store(true)
		c.must(status(a2a.StateInputRequired, "what?"))
		c.ends(nil)
		a.call().finishes(status(a2a.StateCompleted))
		time.Sleep(5 * time.Second)
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}
