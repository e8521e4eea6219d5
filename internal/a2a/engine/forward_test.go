// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/storetest"
)

// A message is refused because the outcome of its forwarding is unknown. The client sends
// it again after the other replica has processed it: it is the same message.
func TestProcessedMessageIsNotProcessedAgain(t *testing.T) {
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
				b.member.set(responseLost)
				if got := b.send(to(say("m2", "that"), c.TaskID)).result(); got != string(a2a.ReasonUnavailable) {
					t.Fatalf("Send() = %s", got)
				}
				b.member.clear(responseLost)
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

// TestOutcomeThatCannotBeRead: a reply by context went to the replica of its task, which
// began a turn with it, and its sender cannot read the outcome. The sender refuses the
// message and keeps the claim, so that the same message begins no second task.
func TestOutcomeThatCannotBeRead(t *testing.T) {
	share(t, engine.Options{ContinuePaused: func() bool { return true }}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		a.send(now(in(say("m1", "hi"), "c")))
		c := a.call()
		c.must(paused(a2a.StateInputRequired, "what?"))
		b.member.set(openFailsAfterPost)
		s := b.send(in(say("m2", "that"), "c"))
		input := a.call()
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		b.member.clear(openFailsAfterPost)
		b.member.clear(openFails)
		input.ends(backend.ErrInputAccepted)
		c.finishes(status(a2a.StateCompleted))
		again := b.send(in(say("m2", "that"), "c"))
		b.noCall()
		a.noCall()
		if got := again.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

// TestNoTaskIsCreatedAfterTheLease: while a replica retries the creation of a task, its
// lease ends, and another replica processes the same message. The first one creates no
// task when the store answers again.
func TestNoTaskIsCreatedAfterTheLease(t *testing.T) {
	share(t, engine.Options{Lease: 10 * time.Second, DecideAfter: time.Minute}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		first := a.send(say("m1", "hi"))
		c := a.call()
		a.member.set(storeDown)
		time.Sleep(8 * time.Second)
		go func() {
			_ = c.says(chunk("late"))
			time.Sleep(4 * time.Second)
			c.ends(nil)
		}()
		time.Sleep(3 * time.Second)
		second := b.send(say("m1", "hi"))
		b.call().finishes(chunk("x"), status(a2a.StateCompleted))
		a.member.clear(storeDown)
		time.Sleep(5 * time.Second)
		if got := first.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() without the store = %s", got)
		}
		if got := second.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
		page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
		if err != nil || len(page.Tasks) != 1 {
			t.Errorf("List() = %d tasks, %v, want 1", len(page.Tasks), err)
		}
	})
}

// If the answer of the other replica is lost, the sender finds the message in the log of
// its task.
func TestLostAnswerOfAnotherReplica(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		a.send(now(say("m1", "hi")))
		c := a.call()
		c.must(status(a2a.StateWorking))
		s := b.send(to(say("m2", "that"), c.TaskID))
		a.member.set(postFails)
		c.must(status(a2a.StateInputRequired, "what?"))
		c.ends(nil)
		a.call().finishes(status(a2a.StateCompleted))
		time.Sleep(5 * time.Second)
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

// A replica that received a message and never answers does not block the sender forever.
func TestMessageThatNobodySpeaksOf(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		a.send(now(say("m1", "hi")))
		c := a.call()
		c.must(status(a2a.StateWorking))
		a.member.set(inboxLost)
		lost := b.send(to(say("m2", "that"), c.TaskID))
		time.Sleep(36 * time.Second)
		if got := lost.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() = %s", got)
		}
		// The other replica confirms a message that waits for its turn.
		a.member.clear(inboxLost)
		waits := b.send(to(say("m2", "that"), c.TaskID))
		time.Sleep(10 * time.Minute)
		c.must(status(a2a.StateInputRequired, "what?"))
		c.ends(nil)
		a.call().finishes(status(a2a.StateCompleted))
		if got := waits.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

// A replica that accepted a message, and cannot report that its task has ended, does not
// block the sender forever.
func TestRefusalOfAnotherReplicaIsLost(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		a.send(now(say("m1", "hi")))
		c := a.call()
		c.must(status(a2a.StateWorking))
		s := b.send(to(say("m2", "that"), c.TaskID))
		time.Sleep(10 * time.Second)
		a.member.set(postFails)
		if _, err := a.cancel(c.TaskID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() = %s", got)
		}
	})
}

// A claim that was not answered stands, and is kept: whatever becomes of the
// message, those who send it again find it, also when its replica is gone.
func TestIndeterminateClaimNamesTheCreatedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		a, b, third := newPeer(t, s, "a", engine.Options{}), newPeer(t, s, "b", engine.Options{}), newPeer(t, s, "c", engine.Options{})
		defer third.leaves()
		defer b.leaves()
		defer a.leaves()
		time.Sleep(time.Minute)
		a.member.set(claimResponseLost)
		if got := a.send(say("m1", "hi")).result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		b.send(now(say("m1", "hi")))
		c := a.call()
		c.must(chunk("x"))
		a.dies()
		time.Sleep(30 * time.Second)
		b.wantState(c.TaskID, a2a.StateFailed)
		again := third.send(say("m1", "hi"))
		third.noCall()
		if got := again.result(); got != "task:failed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

// The same for a message that might have been an answer, and was none.
func TestClaimOfAMessageThatRefersToATask(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		time.Sleep(time.Minute)
		a.send(say("m1", "hi"))
		first := a.call()
		first.finishes(status(a2a.StateCompleted))
		refers := func() *a2a.SendRequest { return result("m2", first.TaskID, "r1", "more") }
		a.send(now(refers()))
		c := a.call()
		c.must(chunk("x"))
		a.dies()
		time.Sleep(30 * time.Second)
		again := b.send(refers())
		b.noCall()
		if got := again.result(); got != "task:failed" {
			t.Errorf("Send() = %s", got)
		}
	})
}
