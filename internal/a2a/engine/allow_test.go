// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// budget is an Options.Allow that refuses messages once it is used up.
type budget struct {
	spent   error
	checked []a2a.AccountingPrincipal
}

func (b *budget) allow(_ context.Context, by a2a.AccountingPrincipal) error {
	b.checked = append(b.checked, by)
	return b.spent
}

func (b *budget) spend() {
	b.spent = &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "spent", RetryAfter: time.Hour}
}

const spent = string(a2a.ReasonResourceExhausted)

func TestRefusedMessageHasNoEffect(t *testing.T) {
	limit := &budget{}
	withEngine(t, engine.Options{Allow: limit.allow}, func(t *testing.T, b *fixture) {
		first := b.send(newRequest("m1", "one"))
		c := b.nextCall()
		if len(limit.checked) != 1 || limit.checked[0] != c.AccountingPrincipal || c.AccountingPrincipal.Principal != "owner" {
			t.Errorf("checked %v, and the turn is charged to %v", limit.checked, c.AccountingPrincipal)
		}
		c.mustEmit(status(a2a.StateInputRequired, "and?"))
		c.endRun(nil)
		first.want(t, "task:input-required")
		limit.spend()
		b.send(newRequest("m2", "two")).want(t, spent)
		b.stream(newRequest("m3", "three")).want(t, spent)
		// A refused message does not change the paused task.
		b.send(withTask(newRequest("m4", "four"), c.TaskID)).want(t, spent)
		b.wantNoCall()
		if task := b.task(c.TaskID); task.Status.State != a2a.StateInputRequired || len(task.History) != 1 {
			t.Errorf("the task is %s with %d messages", task.Status.State, len(task.History))
		}
		// A copy of the message that began the task joins the turn of the first copy.
		b.send(newRequest("m1", "one")).want(t, "task:input-required")
		if _, err := b.cancel(c.TaskID); err != nil {
			t.Errorf("Cancel() error = %v", err)
		}
		limit.spent = nil
		b.send(newRequest("m2", "two"))
		b.nextCall().finishTask(status(a2a.StateCompleted))
	})
}

// A message that waits is checked again when its turn begins, unless its client already
// has an answer.
func TestMessageThatWaitedIsCheckedAgain(t *testing.T) {
	t.Run("for its task", func(t *testing.T) {
		limit := &budget{}
		withEngine(t, engine.Options{Allow: limit.allow}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m1", "one"))
			c := b.nextCall()
			c.mustEmit(status(a2a.StateWorking))
			waiting := b.send(withTask(newRequest("m2", "two"), c.TaskID))
			b.send(returnImmediately(withTask(newRequest("m3", "three"), c.TaskID))).want(t, "task:working")
			limit.spend()
			c.mustEmit(status(a2a.StateInputRequired))
			c.endRun(nil)
			waiting.want(t, spent)
			if c = b.nextCall(); text(c.Message.Parts) != "three" {
				t.Errorf("turn is %q, want the message whose client has an answer", text(c.Message.Parts))
			}
			c.finishTask(status(a2a.StateCompleted))
		})
	})
	t.Run("for its task, as many as may wait", func(t *testing.T) {
		limit := &budget{}
		withEngine(t, engine.Options{Allow: limit.allow}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m0", "0"))
			c := b.nextCall()
			c.mustEmit(status(a2a.StateWorking))
			for i := range 8 {
				id := strconv.Itoa(i + 1)
				b.send(returnImmediately(withTask(newRequest("m"+id, id), c.TaskID))).want(t, "task:working")
			}
			b.send(returnImmediately(withTask(newRequest("m9", "9"), c.TaskID))).want(t, string(a2a.ReasonResourceExhausted))
			limit.spend()
			for i := range 8 {
				c.mustEmit(status(a2a.StateInputRequired))
				c.endRun(nil)
				if c = b.nextCall(); text(c.Message.Parts) != strconv.Itoa(i+1) {
					t.Errorf("turn is %q, want that of message %d", text(c.Message.Parts), i+1)
				}
			}
			c.finishTask(status(a2a.StateCompleted))
			b.wantNoCall()
		})
	})
	t.Run("for a turn", func(t *testing.T) {
		limit := &budget{}
		turns := func() engine.TurnLimits {
			return engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 8, QueueTimeout: time.Minute}
		}
		withEngine(t, engine.Options{Allow: limit.allow, Turns: turns}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m1", "one"))
			c := b.nextCall()
			queued := b.send(newRequest("m2", "two"))
			limit.spend()
			c.finishTask(status(a2a.StateCompleted))
			queued.want(t, spent)
			b.wantNoCall()
			if b.Running() != 0 || b.Queued() != 0 {
				t.Errorf("%d turns run and %d messages wait", b.Running(), b.Queued())
			}
		})
	})
}

// If Options.Allow returns an error that is not an *a2a.Error, the client gets the error of
// an outage of the store.
func TestMessageIsUnavailableWhenTheCheckFails(t *testing.T) {
	limit := &budget{spent: errors.New("connection refused")}
	withEngine(t, engine.Options{Allow: limit.allow}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one")).want(t, string(a2a.ReasonUnavailable))
		b.wantNoCall()
	})
}

// The replica that receives a message checks it, and the replica that runs its task does not
// check it again. A refusal releases the claim on the message.
func TestForwardedMessageIsCheckedOnce(t *testing.T) {
	limit := &budget{}
	withTwoReplicas(t, engine.Options{Allow: limit.allow}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		limit.checked = nil
		limit.spend()
		b.send(withTask(newRequest("m2", "that"), c.TaskID)).want(t, spent)
		limit.spent = nil
		forwarded := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		if len(limit.checked) != 2 {
			t.Errorf("%d checks, want one of each request", len(limit.checked))
		}
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		a.nextCall().finishTask(status(a2a.StateCompleted))
		forwarded.want(t, "task:completed")
	})
}

// A replica that finds the claim of another replica forwards the message before it checks
// the message. The replica that has the claim checks the message once. It does not check a
// copy whose turn it knows.
func TestReceiverChecksAMessageThatItHasClaimed(t *testing.T) {
	limit := &budget{}
	withTwoReplicas(t, engine.Options{Allow: limit.allow, DecideAfter: time.Minute}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		a.member.set(claimResponseLost)
		a.send(newRequest("m1", "hi")).want(t, string(a2a.ReasonUnavailable))
		limit.spend()
		b.send(newRequest("m1", "hi")).want(t, spent)
		a.wantNoCall()
		b.wantNoCall()
		limit.spent, limit.checked = nil, nil
		first, again := b.send(newRequest("m1", "hi")), b.send(newRequest("m1", "hi"))
		a.nextCall().finishTask(status(a2a.StateCompleted))
		first.want(t, "task:completed")
		again.want(t, "task:completed")
		if len(limit.checked) != 1 {
			t.Errorf("%d checks of one message, want 1", len(limit.checked))
		}
	})
}
