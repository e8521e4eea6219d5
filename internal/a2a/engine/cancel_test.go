// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"slices"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

func TestWire11_CancelEndsTheRunAndTheTaskAtOnce(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m", "hi"))
		r := b.stream(newRequest("m2", "other"))
		c, other := b.nextCall(), b.nextCall()
		c.mustEmit(chunk("x"))
		other.mustEmit(chunk("x"))
		task, err := b.cancel(c.TaskID)
		if err != nil || task.Status.State != a2a.StateCanceled {
			t.Fatalf("Cancel() = %v, %v", task, err)
		}
		<-c.ctx.Done()
		s.want(t, "task:canceled")
		r.want(t, "task:submitted status:working artifact:turn-1=x")
		if err := c.emitEvents(status(a2a.StateCompleted)); err == nil {
			t.Error("the agent may speak after the end")
		}
		b.wantState(c.TaskID, a2a.StateCanceled)
		if len(b.canceled) != 0 {
			t.Errorf("the backend was told of %q besides the end of its run", b.canceled)
		}
		if _, err := b.cancel(c.TaskID); reasonOf(err) != string(a2a.ReasonTaskNotCancelable) {
			t.Errorf("second Cancel() error = %v", err)
		}
	})
}

func TestWire11_CancelOfATerminalTask(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.finishTask(status(a2a.StateCompleted))
		if _, err := b.cancel(c.TaskID); reasonOf(err) != string(a2a.ReasonTaskNotCancelable) {
			t.Errorf("Cancel() error = %v", err)
		}
		if _, err := b.cancel("none"); reasonOf(err) != string(a2a.ReasonTaskNotFound) {
			t.Errorf("Cancel() of nothing: error = %v", err)
		}
		b.wantState(c.TaskID, a2a.StateCompleted)
	})
}

func TestPausedTaskIsCanceledWithoutACall(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		asks := status(a2a.StateInputRequired)
		asks.Status.Note = "note"
		c.mustEmit(asks)
		c.endRun(nil)
		if task, err := b.cancel(c.TaskID); err != nil || task.Status.State != a2a.StateCanceled {
			t.Errorf("Cancel() = %v, %v", task, err)
		}
		b.wantNoCall()
		if _, err := b.cancel(c.TaskID); err == nil {
			t.Error("second Cancel() succeeds")
		}
		if want := []string{"note"}; !slices.Equal(b.canceled, want) {
			t.Errorf("the backend was told of %q, want %q", b.canceled, want)
		}
	})
}

func TestCancelRefusesWaitingMessages(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waiting := b.send(withTask(newRequest("m2", "more"), c.TaskID))
		if _, err := b.cancel(c.TaskID); err != nil {
			t.Fatal(err)
		}
		if got := waiting.result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("waiting Send() = %s", got)
		}
	})
}
