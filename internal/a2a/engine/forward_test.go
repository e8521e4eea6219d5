// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// Messages from and for other replicas count as waiting until they have their outcome, at both replicas.
func TestForwardedMessagesCountAsWaiting(t *testing.T) {
	const most = 1 << 20
	large := func(id, task string, size int) *a2a.SendRequest {
		return withTask(newRequest(id, strings.Repeat("x", size)), task)
	}
	withTwoReplicas(t, engine.Options{WaitingBytes: most}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		b.send(large("m2", c.TaskID, 2*most)).want(t, string(a2a.ReasonResourceExhausted))
		first := b.send(large("m3", c.TaskID, most))
		synctest.Wait()
		for _, from := range []*replica{b, a} {
			from.send(large("m4", c.TaskID, most/2)).want(t, string(a2a.ReasonResourceExhausted))
		}
		c.mustEmit(status(a2a.StateInputRequired, "what?"))
		c.endRun(nil)
		next := a.nextCall()
		again := b.send(large("m5", c.TaskID, 2*most-1<<10)) // no other message waits now
		synctest.Wait()
		next.mustEmit(status(a2a.StateInputRequired, "and?"))
		next.endRun(nil)
		first.want(t, "task:input-required")
		a.nextCall().finishTask(status(a2a.StateCompleted))
		again.want(t, "task:completed")
	})
}

// A message is refused because the outcome of its forwarding is unknown. When the client
// sends it again after the other replica has processed it, the copy joins the first turn.
func TestForwardedMessageIsProcessedOnce(t *testing.T) {
	tests := map[string]struct {
		end  []a2a.Event
		want string
	}{
		"the task waits": {[]a2a.Event{chunk("x"), status(a2a.StateInputRequired, "and?")}, "task:input-required"},
		"it has ended":   {[]a2a.Event{chunk("x"), status(a2a.StateCompleted)}, "task:completed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				c := a.startRun(status(a2a.StateWorking))
				b.member.set(responseLost)
				if got := b.send(withTask(newRequest("m2", "that"), c.TaskID)).result(); got != string(a2a.ReasonUnavailable) {
					t.Fatalf("Send() = %s", got)
				}
				b.member.clear(responseLost)
				c.mustEmit(status(a2a.StateInputRequired, "what?"))
				c.endRun(nil)
				second := a.nextCall()
				_ = second.emitEvents(tt.end...)
				second.endRun(nil)
				again := b.send(withTask(newRequest("m2", "that"), c.TaskID))
				b.wantNoCall()
				a.wantNoCall()
				again.want(t, tt.want)
				if tt.want == "task:completed" {
					return
				}
				// Other content is another message, even with the same id. The same
				// content is another message after the deduplication window.
				b.send(withTask(newRequest("m2", "no, this"), c.TaskID))
				third := b.nextCall()
				third.mustEmit(status(a2a.StateInputRequired, "and?"))
				third.endRun(nil)
				time.Sleep(2 * time.Minute)
				b.send(withTask(newRequest("m2", "no, this"), c.TaskID))
				b.nextCall().finishTask(status(a2a.StateCompleted))
			})
		})
	}
}

// Replica b forwards a message that names a context to replica a, which has the paused task
// of this context. Replica a begins a turn, and b cannot read the outcome. Replica b refuses
// the message and keeps the claim, so that a copy of the message begins no second task.
func TestUnreadableOutcomeKeepsTheClaim(t *testing.T) {
	withTwoReplicas(t, engine.Options{ContinuePaused: func() bool { return true }}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		a.send(returnImmediately(withContext(newRequest("m1", "hi"), "c")))
		c := a.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "what?"))
		b.member.set(openFailsAfterPost)
		s := b.send(withContext(newRequest("m2", "that"), "c"))
		input := a.nextCall()
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		b.member.clear(openFailsAfterPost)
		b.member.clear(openFails)
		input.endRun(backend.ErrInputAccepted)
		c.finishTask(status(a2a.StateCompleted))
		again := b.send(withContext(newRequest("m2", "that"), "c"))
		b.wantNoCall()
		a.wantNoCall()
		again.want(t, "task:completed")
	})
}

// While a replica retries the creation of a task, its lease ends, and another replica
// processes the same message. The first replica creates no task when the store answers
// again.
func TestNoTaskIsCreatedAfterTheLeaseEnds(t *testing.T) {
	withTwoReplicas(t, engine.Options{Lease: 10 * time.Second, DecideAfter: time.Minute}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		first := a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		a.member.set(storeDown)
		time.Sleep(8 * time.Second)
		go func() {
			_ = c.emitEvents(chunk("late"))
			time.Sleep(4 * time.Second)
			c.endRun(nil)
		}()
		time.Sleep(3 * time.Second)
		second := b.send(newRequest("m1", "hi"))
		b.nextCall().finishTask(chunk("x"), status(a2a.StateCompleted))
		a.member.clear(storeDown)
		time.Sleep(5 * time.Second)
		if got := first.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() without the store = %s", got)
		}
		second.want(t, "task:completed")
		page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
		if err != nil || len(page.Tasks) != 1 {
			t.Errorf("List() = %d tasks, %v, want 1", len(page.Tasks), err)
		}
	})
}

// If the answer of the other replica is lost, the sender finds the message in the log of
// its task.
func TestSenderFindsAMessageWhoseReplyIsLost(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		s := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		a.member.set(postFails)
		c.mustEmit(status(a2a.StateInputRequired, "what?"))
		c.endRun(nil)
		a.nextCall().finishTask(status(a2a.StateCompleted))
		time.Sleep(5 * time.Second)
		s.want(t, "task:completed")
	})
}

// A replica that received a message and never answers does not block the sender forever.
func TestForwardedMessageWithoutAReplyTimesOut(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.member.set(inboxLost)
		lost := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		time.Sleep(36 * time.Second)
		lost.want(t, string(a2a.ReasonUnavailable))
		// The other replica confirms a message that waits for its turn.
		a.member.clear(inboxLost)
		waits := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		time.Sleep(10 * time.Minute)
		c.mustEmit(status(a2a.StateInputRequired, "what?"))
		c.endRun(nil)
		a.nextCall().finishTask(status(a2a.StateCompleted))
		waits.want(t, "task:completed")
	})
}

// A replica that accepted a message, and cannot report that its task has ended, does not
// block the sender forever.
func TestForwardedMessageWithALostRejectionTimesOut(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		s := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		time.Sleep(10 * time.Second)
		a.member.set(postFails)
		if _, err := a.cancel(c.TaskID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		s.want(t, string(a2a.ReasonUnavailable))
	})
}

// If the response of the store to a claim is lost, the claim stays in the store. Another
// replica that receives a copy of the message finds the task by this claim, even if the
// replica that made the claim is dead.
func TestIndeterminateClaimNamesTheCreatedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		a, b, third := newReplica(t, s, "a", engine.Options{}), newReplica(t, s, "b", engine.Options{}), newReplica(t, s, "c", engine.Options{})
		defer third.shutDown()
		defer b.shutDown()
		defer a.shutDown()
		time.Sleep(time.Minute)
		a.member.set(claimResponseLost)
		if got := a.send(newRequest("m1", "hi")).result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		b.send(returnImmediately(newRequest("m1", "hi")))
		c := a.nextCall()
		c.mustEmit(chunk("x"))
		a.crash()
		time.Sleep(30 * time.Second)
		b.wantState(c.TaskID, a2a.StateFailed)
		again := third.send(newRequest("m1", "hi"))
		third.wantNoCall()
		again.want(t, "task:failed")
	})
}

// The claim also names the created task if the message could have answered an input
// request but did not.
func TestClaimOfAMessageWithTaskReferences(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		a.send(newRequest("m1", "hi"))
		first := a.nextCall()
		first.finishTask(status(a2a.StateCompleted))
		refers := func() *a2a.SendRequest { return answerByReference("m2", first.TaskID, "r1", "more") }
		a.send(returnImmediately(refers()))
		c := a.nextCall()
		c.mustEmit(chunk("x"))
		a.crash()
		time.Sleep(30 * time.Second)
		again := b.send(refers())
		b.wantNoCall()
		again.want(t, "task:failed")
	})
}

// A replica that finds the claim of another replica forwards the message before it checks
// the push configuration. The replica that has the claim checks the configuration before it
// stores the configuration.
func TestReceiverChecksThePushConfigurationOfAForwardedMessage(t *testing.T) {
	pushes := &pushRecorder{}
	withTwoReplicas(t, engine.Options{Pushes: pushes, DecideAfter: time.Minute}, func(t *testing.T, a, b *replica) {
		pushes.Store = a.member
		time.Sleep(time.Minute)
		a.member.set(claimResponseLost)
		if got := a.send(newRequest("m1", "hi")).result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		if got := b.send(pushing(newRequest("m1", "hi"), "bad")).result(); got != string(a2a.ReasonInvalidParams) {
			t.Errorf("Send() = %s, want that the other replica refuses the configuration", got)
		}
		a.wantNoCall()
		b.wantNoCall()
		if len(pushes.attached) > 0 {
			t.Errorf("attached = %q", pushes.attached)
		}
	})
}
