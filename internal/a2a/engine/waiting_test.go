// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// accept sends a message that waits for a turn of a task, and checks that the message is
// accepted.
func (b *fixture) accept(id, task string) {
	b.t.Helper()
	s := b.send(returnImmediately(withTask(newRequest(id, id), task)))
	if s.result() != "task:working" {
		b.t.Fatalf("Send() = %s, want the task as it is", s.result())
	}
}

// wantUnprocessed compares the metadata that lists accepted messages without a turn.
func wantUnprocessed(t *testing.T, task *a2a.Task, want string) {
	t.Helper()
	if got := string(task.Metadata); got != `{"a2a.unprocessedMessages":`+want+`}` {
		t.Errorf("metadata = %s, want the messages %s", got, want)
	}
}

// The client has its answer before the turn of its message. The task shows whether the
// turn has begun.
func TestTaskListsAcceptedMessages(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		watching := b.stream(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking, "busy"))
		s := b.send(returnImmediately(withTask(newRequest("m2", "two"), c.TaskID)))
		s.want(t, "task:working")
		wantUnprocessed(t, s.event.Task, `["m2"]`)
		b.send(withTask(newRequest("m3", "three"), c.TaskID))
		b.accept(`m"4`, c.TaskID)
		wantUnprocessed(t, b.task(c.TaskID), `["m2","m\"4"]`)
		if got := len(b.task(c.TaskID).History); got != 1 {
			t.Errorf("history has %d messages, want the first one: the status was repeated", got)
		}
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		watching.want(t, "task:submitted status:working(busy) status:working(busy) status:working(busy) status:input-required EOF")
		c = b.nextCall()
		wantUnprocessed(t, b.task(c.TaskID), `["m\"4"]`)
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		c = b.nextCall() // the turn of m3
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		c = b.nextCall()
		wantUnprocessed(t, b.task(c.TaskID), `[]`)
		c.finishTask(status(a2a.StateCompleted))
		wantUnprocessed(t, b.task(c.TaskID), `[]`)
	})
}

func TestEndedTaskListsAcceptedMessages(t *testing.T) {
	for name, end := range map[string]func(b *fixture, c *call){
		"completed": func(_ *fixture, c *call) { c.finishTask(status(a2a.StateCompleted)) },
		"failed":    func(_ *fixture, c *call) { c.endRun(backend.Failed("broke", nil)) },
		"canceled": func(b *fixture, c *call) {
			if _, err := b.cancel(c.TaskID); err != nil {
				b.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				b.send(newRequest("m1", "one"))
				c := b.nextCall()
				c.mustEmit(status(a2a.StateWorking))
				b.accept("m2", c.TaskID)
				end(b, c)
				wantUnprocessed(t, b.task(c.TaskID), `["m2"]`)
				b.wantNoCall()
			})
		})
	}
}

func TestAcceptedMessageReachesAPausedRun(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		first := b.nextCall()
		first.mustEmit(paused(a2a.StateInputRequired, "which?"))
		b.send(withTask(newRequest("m2", "two"), first.TaskID))
		input := b.nextCall()
		first.mustEmit(paused(a2a.StateInputRequired, "and?"))
		b.send(returnImmediately(withTask(newRequest("m3", "three"), first.TaskID))).want(t, "task:input-required")
		input.endRun(backend.ErrInputAccepted)
		if input = b.nextCall(); text(input.Message.Parts) != "three" || !input.Input {
			t.Errorf("call = %+v", input.Turn)
		}
		input.endRun(backend.ErrInputAccepted)
		first.finishTask(status(a2a.StateCompleted))
		wantUnprocessed(t, b.task(first.TaskID), `[]`)
	})
}

func TestAgentCannotReplaceTheListOfAcceptedMessages(t *testing.T) {
	for _, metadata := range []string{`{"a2a.unprocessedMessages":[]}`, `{"a2a.\u0075nprocessedMessages":[]}`} {
		withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m1", "one"))
			c := b.nextCall()
			c.mustEmit(status(a2a.StateWorking))
			b.accept("m2", c.TaskID)
			e := status(a2a.StateCompleted)
			e.Status.Metadata = a2a.Object(metadata)
			c.finishTask(e)
			wantUnprocessed(t, b.task(c.TaskID), `["m2"]`)
		})
	}
}

// If the message were accepted, the store would have no room for it at the beginning of its
// turn, and the task would fail.
func TestMessageThatIsTooLargeIsNotAccepted(t *testing.T) {
	withEngine(t, engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		large := strings.Repeat("x", 80<<10)
		if s := b.send(returnImmediately(withTask(newRequest("m2", large), c.TaskID))); s.err == nil {
			t.Errorf("Send() = %s, want an error", s.result())
		}
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

// The store has room for each of two messages, but not for both.
func TestMessagesThatAreTooLargeTogetherAreNotAccepted(t *testing.T) {
	withEngine(t, engine.Options{Store: memory.New(memory.Options{MaxBytes: 128 << 10})}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		large := strings.Repeat("x", 40<<10)
		b.send(returnImmediately(withTask(newRequest("m2", large), c.TaskID))).want(t, "task:working")
		if s := b.send(returnImmediately(withTask(newRequest("m3", large), c.TaskID))); s.err == nil {
			t.Errorf("Send() = %s, want an error", s.result())
		}
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		c = b.nextCall()
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

// The replica that takes the task over finds the accepted message in the store, whichever
// replica received it. The message gets one turn, after the re-run of the interrupted turn.
func TestAcceptedMessageOutlivesTheOwner(t *testing.T) {
	for name, forwarded := range map[string]bool{"sent to the owner": false, "forwarded": true} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
				c := a.startRun(status(a2a.StateWorking))
				receiver := a
				if forwarded {
					receiver = b
				}
				m := returnImmediately(withTask(newRequest("m2", "two"), c.TaskID))
				m.Metadata, m.AcceptedOutputModes = a2a.Object(`{"a":1}`), []string{"text/plain"}
				receiver.send(m).want(t, "task:working")
				a.crash()
				time.Sleep(time.Minute)
				again := b.nextCall()
				if again.Message.ID != "m1" || again.Attempt != 2 {
					t.Fatalf("the agent received %s, attempt %d", again.Message.ID, again.Attempt)
				}
				b.wantNoCall()
				again.mustEmit(status(a2a.StateInputRequired))
				again.endRun(nil)
				next := b.nextCall()
				if next.Message.ID != "m2" || next.Attempt != 1 || next.Number != 2 || string(next.Metadata) != `{"a":1}` || len(next.AcceptedOutputModes) != 1 {
					t.Errorf("the agent received %+v", next.Turn)
				}
				next.finishTask(status(a2a.StateCompleted))
				time.Sleep(time.Minute)
				b.wantNoCall()
				wantMetadata := `{"a2a.unprocessedMessages":[],"a2a.attempt":2}`
				if task := b.task(c.TaskID); task.Status.State != a2a.StateCompleted || len(task.History) != 2 {
					t.Errorf("the task is %s with %d messages", task.Status.State, len(task.History))
				} else if len(task.Metadata) != len(wantMetadata) {
					t.Errorf("metadata = %s, want %s", task.Metadata, wantMetadata)
				}
			})
		})
	}
}

// pauseWhileDraining starts a drain and then pauses the task of c. During a drain, an
// accepted message waits until the run has returned.
func (p *replica) pauseWhileDraining(c *call) {
	p.t.Helper()
	p.drain(time.Hour)
	if err := c.emitEvents(status(a2a.StateInputRequired)); !errors.Is(err, backend.ErrTurnEnded) {
		p.t.Fatalf("emit() error = %v, want ErrTurnEnded", err)
	}
}

// The owner dies after the turn that was running, before the turn of the accepted message.
func TestAcceptedMessageContinuesAPausedTask(t *testing.T) {
	for name, retry := range map[string]bool{"Fail": false, "Retry": true} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: func() bool { return retry }}, func(t *testing.T, a, b *replica) {
				c := a.startRun(status(a2a.StateWorking))
				a.accept("m2", c.TaskID)
				a.pauseWhileDraining(c)
				a.crash()
				c.endRun(nil)
				time.Sleep(2 * time.Minute)
				next := b.nextCall()
				if next.Message.ID != "m2" || next.Attempt != 1 || next.Number != 2 {
					t.Errorf("the agent received %+v", next.Turn)
				}
				next.finishTask(status(a2a.StateCompleted))
				time.Sleep(time.Minute)
				b.wantState(c.TaskID, a2a.StateCompleted)
				a.wantNoCall()
				b.wantNoCall()
			})
		})
	}
}

// Without Options.Retry, the takeover fails the task. Its metadata then lists the accepted
// message.
func TestTakeoverUnderFailListsAcceptedMessages(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		b.accept("m2", c.TaskID)
		a.crash()
		time.Sleep(time.Minute)
		b.wantState(c.TaskID, a2a.StateFailed)
		wantUnprocessed(t, b.task(c.TaskID), `["m2"]`)
		b.wantNoCall()
	})
}

// A replica that has lost its task does not begin the turn of the accepted message. The
// replica that took the task over begins it.
func TestFormerOwnerDoesNotBeginTheTurn(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.accept("m2", c.TaskID)
		a.crash()
		time.Sleep(time.Minute)
		again := b.nextCall()
		a.member.clear(storeDown)
		again.mustEmit(status(a2a.StateInputRequired))
		again.endRun(nil)
		next := b.nextCall()
		next.mustEmit(status(a2a.StateInputRequired))
		next.endRun(nil)
		c.endRun(nil)
		time.Sleep(time.Minute)
		a.wantNoCall()
		b.wantNoCall()
		if got := len(b.task(c.TaskID).History); got != 2 {
			t.Errorf("history has %d messages, want 2", got)
		}
	})
}

// A client may send an accepted message again to the replica that has taken the task over.
func TestCopyOfAnAcceptedMessageFollowsIt(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.accept("m2", c.TaskID)
		a.crash()
		time.Sleep(time.Minute)
		again := b.nextCall()
		blocking := b.send(withTask(newRequest("m2", "m2"), c.TaskID))
		again.mustEmit(status(a2a.StateInputRequired))
		blocking.want(t, "task:input-required")
		again.endRun(nil)
		b.nextCall().finishTask(status(a2a.StateCompleted))
		b.wantNoCall()
		if got := len(b.task(c.TaskID).History); got != 2 {
			t.Errorf("history has %d messages, want 2", got)
		}
	})
}

// The store does not answer for so long that the owner gives the task up.
func TestOutageBeforeTheTurnOfAnAcceptedMessage(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.accept("m2", c.TaskID)
		a.pauseWhileDraining(c)
		a.crash()
		b.crash()
		c.endRun(nil)
		time.Sleep(2 * time.Minute)
		b.member.clear(storeDown)
		time.Sleep(time.Minute)
		next := b.nextCall()
		if next.Message.ID != "m2" {
			t.Errorf("the agent received %s", next.Message.ID)
		}
		next.finishTask(status(a2a.StateCompleted))
		a.wantNoCall()
		b.wantState(c.TaskID, a2a.StateCompleted)
	})
}

// If the store answers in time, the owner itself begins the turn.
func TestShortOutageBeforeTheTurnOfAnAcceptedMessage(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		b.accept("m2", c.TaskID)
		a.pauseWhileDraining(c)
		a.crash()
		go c.endRun(nil)
		time.Sleep(6 * time.Second)
		a.member.clear(storeDown)
		time.Sleep(2 * time.Second)
		next := a.nextCall()
		if next.Message.ID != "m2" {
			t.Errorf("the agent received %s", next.Message.ID)
		}
		next.finishTask(status(a2a.StateCompleted))
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateCompleted)
	})
}

// A replica that drains hands the task and the accepted message over. A task that cannot
// be handed over fails and lists the message.
func TestDrainHandsOverAcceptedMessages(t *testing.T) {
	for name, retry := range map[string]bool{"Fail": false, "Retry": true} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: func() bool { return retry }}, func(t *testing.T, a, b *replica) {
				c := a.startRun(status(a2a.StateWorking))
				b.accept("m2", c.TaskID)
				done := a.drain(time.Second)
				time.Sleep(time.Minute)
				if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Drain() error = %v", err)
				}
				if !retry {
					b.wantNoCall()
					b.wantState(c.TaskID, a2a.StateFailed)
					wantUnprocessed(t, b.task(c.TaskID), `["m2"]`)
					return
				}
				again := b.nextCall()
				again.mustEmit(status(a2a.StateInputRequired))
				again.endRun(nil)
				next := b.nextCall()
				if next.Message.ID != "m2" {
					t.Errorf("the agent received %s", next.Message.ID)
				}
				next.finishTask(status(a2a.StateCompleted))
				b.wantState(c.TaskID, a2a.StateCompleted)
			})
		})
	}
}
