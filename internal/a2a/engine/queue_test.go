// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

func TestTurnsOfOneTaskAreSerial(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := newRequest("m1", "one")
		first.Message.ContextID = "c"
		second := newRequest("m2", "two")
		second.Message.ContextID = "c"
		b.send(first)
		b.send(second)
		one, two := b.nextCall(), b.nextCall()
		if one.TaskID == two.TaskID || one.ContextID != two.ContextID {
			t.Fatalf("tasks %s and %s, want two in one context", one.TaskID, two.TaskID)
		}
		one.mustEmit(status(a2a.StateWorking))
		b.send(withTask(newRequest("m3", "three"), one.TaskID))
		b.wantNoCall()
	})
}

func TestMessageForAWorkingTaskWaits(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		second := b.stream(withTask(newRequest("m2", "two"), c.TaskID))
		third := b.send(withTask(newRequest("m3", "three"), c.TaskID))
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		c = b.nextCall()
		if text(c.Message.Parts) != "two" || c.Input {
			t.Errorf("turn is %q, input %t, want the message that waited, as a turn of its own", text(c.Message.Parts), c.Input)
		}
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		second.want(t, "task:working status:input-required EOF")
		c = b.nextCall()
		c.finishTask(status(a2a.StateCompleted))
		if got := third.result(); got != "task:completed" {
			t.Errorf("third Send() = %s", got)
		}
		b.wantNoCall()
	})
}

func TestWaitingMessageIsRefusedWhenTheTaskEnds(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waiting := b.send(withTask(newRequest("m2", "two"), c.TaskID))
		stream := b.stream(withTask(newRequest("m3", "three"), c.TaskID))
		immediate := withTask(newRequest("m4", "four"), c.TaskID)
		immediate.ReturnImmediately = true
		if got := b.send(immediate).result(); got != "task:working" {
			t.Errorf("immediate Send() = %s, want the task as it is", got)
		}
		joined := withTask(newRequest("m4", "four"), c.TaskID)
		later := b.send(joined)
		c.finishTask(status(a2a.StateCompleted))
		if got := waiting.result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("waiting Send() = %s", got)
		}
		stream.want(t, string(a2a.ReasonUnsupportedOperation))
		if got := later.result(); got != "task:completed" {
			t.Errorf("Send() that joined the immediate one = %s", got)
		}
		b.wantNoCall()
	})
}

func TestAtMostEightMessagesWait(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		for i := range 8 {
			if s := b.send(withTask(newRequest("w"+strconv.Itoa(i), "x"), c.TaskID)); !s.pending() {
				t.Errorf("message %d: %s, want it to wait", i, s.result())
			}
		}
		if got := b.send(withTask(newRequest("w9", "x"), c.TaskID)).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("ninth message: %s", got)
		}
	})
}

func TestWaitingMessageRunsAfterAClientDisconnect(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waiting := b.stream(withTask(newRequest("m2", "two"), c.TaskID))
		waiting.cancel()
		waiting.want(t, context.Canceled.Error())
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		if c = b.nextCall(); text(c.Message.Parts) != "two" {
			t.Errorf("turn is %q, want the message whose sender left", text(c.Message.Parts))
		}
	})
}

// An agent that keeps its stream open while the task is paused receives the answer in
// the same run.
func TestInputGoesToThePausedRun(t *testing.T) {
	for name, pause := range map[string]a2a.Event{
		"reports that the run waits": paused(a2a.StateInputRequired, "which?"),
		"keeps its stream open":      status(a2a.StateInputRequired, "which?"),
		"for authentication":         status(a2a.StateAuthRequired, "which?"),
	} {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				watching := b.stream(newRequest("m1", "one"))
				first := b.nextCall()
				first.mustEmit(pause)
				second := b.stream(withTask(newRequest("m2", "two"), first.TaskID))
				time.Sleep(100 * time.Millisecond)
				input := b.nextCall()
				if !input.Input || input.Task == nil || text(input.Message.Parts) != "two" {
					t.Fatalf("input = %+v", input.Turn)
				}
				input.endRun(backend.ErrInputAccepted)
				first.mustEmit(status(a2a.StateWorking))
				first.mustEmit(chunk("x"))
				first.endRun(nil)
				second.want(t, "task:working status:working artifact:turn-1=x status:completed EOF")
				if pause.Status.Paused {
					watching.want(t, "task:submitted status:input-required(which?)/paused status:working status:working artifact:turn-1=x status:completed EOF")
				}
				b.wantNoCall()
			})
		})
	}
}

func TestEndingRunGetsNoInput(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		first := b.nextCall()
		first.mustEmit(status(a2a.StateInputRequired))
		second := b.send(withTask(newRequest("m2", "two"), first.TaskID))
		b.wantNoCall()
		first.endRun(nil)
		c := b.nextCall()
		if c.Input || text(c.Message.Parts) != "two" {
			t.Errorf("call = %+v, want a turn like any other", c.Turn)
		}
		c.endRun(nil)
		second.want(t, "task:completed")
	})
}

func TestResponseToInputReplacesTheRun(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		first := b.nextCall()
		first.mustEmit(paused(a2a.StateInputRequired))
		second := b.stream(withTask(newRequest("m2", "two"), first.TaskID))
		input := b.nextCall()
		input.mustEmit(chunk("x"))
		if err := first.emitEvents(chunk("stale")); err == nil {
			t.Error("the run that was taken over from may still speak")
		}
		input.endRun(nil)
		second.want(t, "task:working artifact:turn-2=x status:completed EOF")
	})
}

func TestFailedInputEndsTheTask(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		first := b.nextCall()
		first.mustEmit(paused(a2a.StateInputRequired))
		second := b.stream(withTask(newRequest("m2", "two"), first.TaskID))
		b.nextCall().endRun(backend.Rejected("no"))
		second.want(t, "task:working status:rejected(no) EOF")
		if err := first.emitEvents(chunk("stale")); err == nil {
			t.Error("the run that waited may still speak")
		}
	})
}

// The agent confirms that the waiting run received the input. The run may return before this
// confirmation arrives.
func TestRunEndsDuringTheDeliveryOfItsInput(t *testing.T) {
	tests := map[string]struct {
		end  error
		want string
	}{
		"whole":  {nil, "status:completed EOF"},
		"broken": {backend.Failed("broke", nil), "status:failed(broke) EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				b.send(newRequest("m1", "one"))
				first := b.nextCall()
				first.mustEmit(paused(a2a.StateInputRequired))
				second := b.stream(withTask(newRequest("m2", "two"), first.TaskID))
				input := b.nextCall()
				first.mustEmit(chunk("x"))
				first.endRun(tt.end)
				b.wantState(first.TaskID, a2a.StateWorking)
				input.endRun(backend.ErrInputAccepted)
				second.want(t, "task:working artifact:turn-1=x "+tt.want)
			})
		})
	}
}

func TestRunThatPausesAgainGetsTheNextMessage(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		first := b.nextCall()
		first.mustEmit(paused(a2a.StateInputRequired))
		second := b.send(withTask(newRequest("m2", "two"), first.TaskID))
		third := b.send(withTask(newRequest("m3", "three"), first.TaskID))
		input := b.nextCall()
		first.mustEmit(paused(a2a.StateInputRequired))
		b.wantNoCall()
		input.endRun(backend.ErrInputAccepted)
		if got := second.result(); got != "task:working" && got != "task:input-required" {
			t.Errorf("second Send() = %s", got)
		}
		input = b.nextCall()
		if text(input.Message.Parts) != "three" || !input.Input {
			t.Errorf("call = %+v", input.Turn)
		}
		input.endRun(backend.ErrInputAccepted)
		first.endRun(nil)
		if got := third.result(); got != "task:completed" {
			t.Errorf("third Send() = %s", got)
		}
	})
}

func TestEndOfAPausedRunIsPublished(t *testing.T) {
	for name, end := range map[string]error{"whole": nil, "broken": errors.New("broken")} {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				r := b.stream(newRequest("m1", "one"))
				c := b.nextCall()
				c.mustEmit(paused(a2a.StateInputRequired, "which?"))
				r.want(t, "task:submitted status:input-required(which?)/paused")
				c.endRun(end)
				r.want(t, "task:submitted status:input-required(which?)/paused status:input-required(which?) EOF")
				if got := len(b.task(c.TaskID).History); got != 1 {
					t.Errorf("history has %d messages, want 1: nothing new was said", got)
				}
			})
		})
	}
}

// Waiting messages are in no log, so the bounds of the store do not apply to them.
func TestWaitingMessagesAreBoundedByTheirBytes(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		large := strings.Repeat("x", 12<<20)
		var calls []*call
		for i := range 2 {
			b.send(newRequest("m"+strconv.Itoa(i), "hi"))
			c := b.nextCall()
			c.mustEmit(status(a2a.StateWorking))
			calls = append(calls, c)
		}
		b.send(withTask(newRequest("w1", large), calls[0].TaskID))
		b.send(withTask(newRequest("w2", large), calls[1].TaskID))
		if got := b.send(withTask(newRequest("w3", large), calls[1].TaskID)).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() = %s, with 24 MiB that wait already", got)
		}
		calls[0].finishTask(status(a2a.StateCompleted))
		again := b.send(withTask(newRequest("w4", large), calls[1].TaskID))
		if !again.pending() {
			t.Errorf("Send() = %s, after the other task ended", again.result())
		}
	})
}
