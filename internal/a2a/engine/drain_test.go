// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// drain calls Drain in the background, with a time limit.
func (b *fixture) drain(limit time.Duration) (done chan error) {
	done = make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(b.t.Context(), limit)
		defer cancel()
		done <- b.Drain(ctx)
	}()
	synctest.Wait()
	return done
}

func TestDrainWaitsForRunningTurns(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waiting := b.send(withTask(newRequest("m2", "more"), c.TaskID))
		done := b.drain(time.Minute)
		if got := b.send(newRequest("m3", "hi")).result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() while draining = %s", got)
		}
		if got := waiting.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("waiting Send() = %s", got)
		}
		again := b.drain(time.Minute)
		time.Sleep(30 * time.Second)
		if len(done) != 0 || b.Running() != 1 {
			t.Fatalf("Drain() returned with %d turns running", b.Running())
		}
		c.finishTask(status(a2a.StateCompleted))
		if err := errors.Join(<-done, <-again); err != nil {
			t.Errorf("Drain() error = %v", err)
		}
		s.want(t, "task:completed")
		b.wantState(c.TaskID, a2a.StateCompleted)
	})
}

func TestDrainFailsTurnsThatRunTooLong(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m", "hi"))
		silent := b.stream(newRequest("m2", "hi"))
		c, other := b.nextCall(), b.nextCall()
		if text(c.Message.Parts) != "hi" {
			t.Fatal("no message")
		}
		c.mustEmit(chunk("x"))
		done := b.drain(500 * time.Millisecond)
		time.Sleep(time.Second)
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain() error = %v, want DeadlineExceeded", err)
		}
		<-c.ctx.Done()
		<-other.ctx.Done()
		const reason = "status:failed(The agent was shut down before it finished) EOF"
		r.want(t, "task:submitted status:working artifact:turn-1=x "+reason)
		silent.want(t, "task:submitted "+reason)
	})
}

func TestDrainEndsStreamsSoThatTheyCanBeResumed(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		ended := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateAuthRequired))
		c.endRun(nil)
		done := b.drain(time.Minute)
		if err := <-done; err != nil {
			t.Errorf("Drain() error = %v", err)
		}
		ended.want(t, "task:submitted status:auth-required server is shutting down")
		b.subscribe(c.TaskID, nil).want(t, "task:auth-required server is shutting down")
		b.wantState(c.TaskID, a2a.StateAuthRequired)
	})
}

func TestDrainCancelsPausedRuns(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		waits := b.nextCall()
		waits.mustEmit(paused(a2a.StateInputRequired))
		b.send(newRequest("m2", "hi"))
		pausesLater := b.nextCall()
		pausesLater.mustEmit(status(a2a.StateWorking))
		done := b.drain(time.Minute)
		<-waits.ctx.Done()
		pausesLater.finishTask(paused(a2a.StateInputRequired))
		if err := <-done; err != nil {
			t.Errorf("Drain() error = %v", err)
		}
		b.wantState(waits.TaskID, a2a.StateInputRequired)
		b.wantState(pausesLater.TaskID, a2a.StateInputRequired)
	})
}

func TestDrainOfAnIdleEngine(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		for range 2 {
			if err := b.Drain(t.Context()); err != nil {
				t.Errorf("Drain() error = %v", err)
			}
		}
	})
}

// An accepted message (ReturnImmediately) is in no log while it waits for the running turn
// of its task. Drain therefore returns only after the turn of the accepted message.
func TestDrainRunsTheTurnsOfAcceptedMessages(t *testing.T) {
	for name, pause := range map[string]a2a.Event{
		"the run returns": status(a2a.StateInputRequired),
		"the run waits":   paused(a2a.StateInputRequired),
	} {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				b.send(newRequest("m1", "one"))
				c := b.nextCall()
				c.mustEmit(status(a2a.StateWorking))
				refused := b.send(withTask(newRequest("m2", "two"), c.TaskID))
				b.send(returnImmediately(withTask(newRequest("m3", "three"), c.TaskID))).want(t, "task:working")
				done := b.drain(time.Minute)
				refused.want(t, string(a2a.ReasonUnavailable))
				c.finishTask(pause)
				next := b.nextCall()
				if got := text(next.Message.Parts); got != "three" || next.Input {
					t.Errorf("the agent received %q, input %t, want the accepted message in a turn of its own", got, next.Input)
				}
				if len(done) != 0 {
					t.Error("Drain() returned before the turn")
				}
				next.finishTask(status(a2a.StateCompleted))
				if err := <-done; err != nil {
					t.Errorf("Drain() error = %v", err)
				}
				if task := b.task(c.TaskID); task.Status.State != a2a.StateCompleted || len(task.History) != 2 {
					t.Errorf("the task is %s with %d messages", task.Status.State, len(task.History))
				}
			})
		})
	}
}
