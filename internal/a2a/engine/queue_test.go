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

func TestContextsRunInParallelTasksDoNot(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		first := say("m1", "one")
		first.Message.ContextID = "c"
		second := say("m2", "two")
		second.Message.ContextID = "c"
		b.send(first)
		b.send(second)
		one, two := b.call(), b.call()
		if one.TaskID == two.TaskID || one.ContextID != two.ContextID {
			t.Fatalf("tasks %s and %s, want two in one context", one.TaskID, two.TaskID)
		}
		one.must(status(a2a.StateWorking))
		b.send(to(say("m3", "three"), one.TaskID))
		b.noCall()
	})
}

func TestMessageForAWorkingTaskWaits(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		second := b.stream(to(say("m2", "two"), c.TaskID))
		third := b.send(to(say("m3", "three"), c.TaskID))
		c.must(status(a2a.StateInputRequired))
		c.ends(nil)
		c = b.call()
		if text(c.Message.Parts) != "two" || c.Input {
			t.Errorf("turn is %q, input %t, want the message that waited, as a turn of its own", text(c.Message.Parts), c.Input)
		}
		c.must(status(a2a.StateInputRequired))
		c.ends(nil)
		second.want(t, "task:working status:input-required EOF")
		c = b.call()
		c.finishes(status(a2a.StateCompleted))
		if got := third.result(); got != "task:completed" {
			t.Errorf("third Send() = %s", got)
		}
		b.noCall()
	})
}

func TestWaitingMessageIsRefusedWhenTheTaskEnds(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		waiting := b.send(to(say("m2", "two"), c.TaskID))
		stream := b.stream(to(say("m3", "three"), c.TaskID))
		immediate := to(say("m4", "four"), c.TaskID)
		immediate.ReturnImmediately = true
		if got := b.send(immediate).result(); got != "task:working" {
			t.Errorf("immediate Send() = %s, want the task as it is", got)
		}
		joined := to(say("m4", "four"), c.TaskID)
		later := b.send(joined)
		c.finishes(status(a2a.StateCompleted))
		if got := waiting.result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("waiting Send() = %s", got)
		}
		stream.want(t, string(a2a.ReasonUnsupportedOperation))
		if got := later.result(); got != "task:completed" {
			t.Errorf("Send() that joined the immediate one = %s", got)
		}
		b.noCall()
	})
}

func TestAtMostEightMessagesWait(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m", "one"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		for i := range 8 {
			if s := b.send(to(say("w"+strconv.Itoa(i), "x"), c.TaskID)); !s.pending() {
				t.Errorf("message %d: %s, want it to wait", i, s.result())
			}
		}
		if got := b.send(to(say("w9", "x"), c.TaskID)).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("ninth message: %s", got)
		}
	})
}

func TestWaitingMessageSurvivesItsSender(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		waiting := b.stream(to(say("m2", "two"), c.TaskID))
		waiting.cancel()
		waiting.want(t, context.Canceled.Error())
		c.must(status(a2a.StateInputRequired))
		c.ends(nil)
		if c = b.call(); text(c.Message.Parts) != "two" {
			t.Errorf("turn is %q, want the message whose sender left", text(c.Message.Parts))
		}
	})
}

// An agent that keeps its stream open after pausing gets the answer there.
func TestInputGoesToTheRunThatWaits(t *testing.T) {
	for name, pause := range map[string]a2a.Event{
		"said that it waits": paused(a2a.StateInputRequired, "which?"),
		"just stays":         status(a2a.StateInputRequired, "which?"),
		"for authentication": status(a2a.StateAuthRequired, "which?"),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, engine.Options{}, func(t *testing.T, b *bench) {
				watching := b.stream(say("m1", "one"))
				first := b.call()
				first.must(pause)
				second := b.stream(to(say("m2", "two"), first.TaskID))
				time.Sleep(100 * time.Millisecond)
				input := b.call()
				if !input.Input || input.Task == nil || text(input.Message.Parts) != "two" {
					t.Fatalf("input = %+v", input.Turn)
				}
				input.ends(backend.ErrInputAccepted)
				first.must(status(a2a.StateWorking))
				first.must(chunk("x"))
				first.ends(nil)
				second.want(t, "task:working status:working artifact:turn-1+x status:completed EOF")
				if pause.Status.Paused {
					watching.want(t, "task:submitted status:input-required(which?)/paused status:working status:working artifact:turn-1+x status:completed EOF")
				}
				b.noCall()
			})
		})
	}
}

func TestRunThatIsAboutToEndGetsNoInput(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		first := b.call()
		first.must(status(a2a.StateInputRequired))
		second := b.send(to(say("m2", "two"), first.TaskID))
		b.noCall()
		first.ends(nil)
		c := b.call()
		if c.Input || text(c.Message.Parts) != "two" {
			t.Errorf("call = %+v, want a turn like any other", c.Turn)
		}
		c.ends(nil)
		if got := second.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

func TestInputThatIsAnsweredReplacesTheRun(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		first := b.call()
		first.must(paused(a2a.StateInputRequired))
		second := b.stream(to(say("m2", "two"), first.TaskID))
		input := b.call()
		input.must(chunk("x"))
		if err := first.says(chunk("stale")); err == nil {
			t.Error("the run that was taken over from may still speak")
		}
		input.ends(nil)
		second.want(t, "task:working artifact:turn-2+x status:completed EOF")
	})
}

func TestInputThatFailsEndsTheTask(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		first := b.call()
		first.must(paused(a2a.StateInputRequired))
		second := b.stream(to(say("m2", "two"), first.TaskID))
		b.call().ends(backend.Rejected("no"))
		second.want(t, "task:working status:rejected(no) EOF")
		if err := first.says(chunk("stale")); err == nil {
			t.Error("the run that waited may still speak")
		}
	})
}

// The run may end before its agent's word that it took the input arrives.
func TestRunThatEndsDuringTheDeliveryOfItsInput(t *testing.T) {
	tests := map[string]struct {
		end  error
		want string
	}{
		"whole":  {nil, "status:completed EOF"},
		"broken": {backend.Failed("broke", nil), "status:failed(broke) EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play(t, engine.Options{}, func(t *testing.T, b *bench) {
				b.send(say("m1", "one"))
				first := b.call()
				first.must(paused(a2a.StateInputRequired))
				second := b.stream(to(say("m2", "two"), first.TaskID))
				input := b.call()
				first.must(chunk("x"))
				first.ends(tt.end)
				b.wantState(first.TaskID, a2a.StateWorking)
				input.ends(backend.ErrInputAccepted)
				second.want(t, "task:working artifact:turn-1+x "+tt.want)
			})
		})
	}
}

func TestRunThatPausesAgainGetsTheNextMessage(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "one"))
		first := b.call()
		first.must(paused(a2a.StateInputRequired))
		second := b.send(to(say("m2", "two"), first.TaskID))
		third := b.send(to(say("m3", "three"), first.TaskID))
		input := b.call()
		first.must(paused(a2a.StateInputRequired))
		b.noCall()
		input.ends(backend.ErrInputAccepted)
		if got := second.result(); got != "task:working" && got != "task:input-required" {
			t.Errorf("second Send() = %s", got)
		}
		input = b.call()
		if text(input.Message.Parts) != "three" || !input.Input {
			t.Errorf("call = %+v", input.Turn)
		}
		input.ends(backend.ErrInputAccepted)
		first.ends(nil)
		if got := third.result(); got != "task:completed" {
			t.Errorf("third Send() = %s", got)
		}
	})
}

func TestEndOfAPausedRunIsPublished(t *testing.T) {
	for name, end := range map[string]error{"whole": nil, "broken": errors.New("broken")} {
		t.Run(name, func(t *testing.T) {
			play(t, engine.Options{}, func(t *testing.T, b *bench) {
				r := b.stream(say("m1", "one"))
				c := b.call()
				c.must(paused(a2a.StateInputRequired, "which?"))
				r.want(t, "task:submitted status:input-required(which?)/paused")
				c.ends(end)
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
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		large := strings.Repeat("x", 12<<20)
		var calls []*call
		for i := range 2 {
			b.send(say("m"+strconv.Itoa(i), "hi"))
			c := b.call()
			c.must(status(a2a.StateWorking))
			calls = append(calls, c)
		}
		b.send(to(say("w1", large), calls[0].TaskID))
		b.send(to(say("w2", large), calls[1].TaskID))
		if got := b.send(to(say("w3", large), calls[1].TaskID)).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() = %s, with 24 MiB that wait already", got)
		}
		calls[0].finishes(status(a2a.StateCompleted))
		again := b.send(to(say("w4", large), calls[1].TaskID))
		if !again.pending() {
			t.Errorf("Send() = %s, after the other task ended", again.result())
		}
	})
}
