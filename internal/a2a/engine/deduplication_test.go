// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

func TestRepeatedMessageJoinsItsTurn(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.send(newRequest("m", "hi"))
		c := b.nextCall()
		again := b.send(newRequest("m", "hi"))
		c.mustEmit(chunk("x"))
		stream := b.stream(newRequest("m", "hi"))
		stream.want(t, "task:submitted status:working artifact:turn-1=x")
		c.finishTask(status(a2a.StateCompleted))
		stream.want(t, "task:submitted status:working artifact:turn-1=x status:completed EOF")
		after := b.send(newRequest("m", "hi"))
		for _, s := range []*pendingSend{first, again, after} {
			if got := s.result(); got != "task:completed" || s.event.Task.ID != c.TaskID {
				t.Errorf("Send() = %s", got)
			}
		}
		b.wantNoCall()
	})
}

func TestRepeatedMessageGetsTheSameResponse(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.send(newRequest("m", "hi"))
		c := b.nextCall()
		_ = c.emitEvents(message("hello"))
		c.endRun(nil)
		again := b.send(newRequest("m", "hi"))
		if again.result() != "message:hello" || again.event.Message != first.event.Message {
			t.Errorf("Send() = %s", again.result())
		}
		b.wantNoCall()
	})
}

func TestDifferentMessagesAreNotDeduplicated(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		b.nextCall()
		owner, context, metadata, reference := newRequest("m", "hi"), newRequest("m", "hi"), newRequest("m", "hi"), newRequest("m", "hi")
		owner.Owner = "other"
		context.Message.ContextID = "c"
		metadata.Metadata = a2a.Object(`{"k":1}`)
		reference.Message.ReferenceTasks = []string{"t"}
		split := newRequest("m", "")
		split.Message.Parts = []a2a.Part{a2a.TextPart("h"), a2a.TextPart("i")}
		for _, r := range []*a2a.SendRequest{newRequest("m", "other"), newRequest("n", "hi"), newRequest("", "hi"), newRequest("", "hi"), owner, context, metadata, reference, split} {
			b.send(r)
			b.nextCall()
		}
	})
}

func TestDeduplicationEndsAfterItsWindow(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		b.nextCall().endRun(nil)
		time.Sleep(time.Minute - time.Second)
		b.send(newRequest("m", "hi"))
		b.wantNoCall()
		time.Sleep(time.Second)
		b.send(newRequest("m", "hi"))
		b.nextCall()
	})
}

// A message is remembered while its turn runs, and then for one window.
func TestMessageOfARunningTurnIsRemembered(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.send(newRequest("m", "hi"))
		c := b.nextCall()
		for range 3 {
			time.Sleep(time.Minute)
			b.send(newRequest("other", "hi"))
			b.nextCall().endRun(nil)
			b.send(newRequest("m", "hi"))
			b.wantNoCall()
		}
		c.endRun(nil)
		first.want(t, "task:completed")
		time.Sleep(time.Minute - time.Second)
		again := b.send(newRequest("m", "hi"))
		b.wantNoCall()
		if again.event.Task.ID != c.TaskID {
			t.Errorf("Send() = %s", again.result())
		}
		time.Sleep(time.Second)
		b.send(newRequest("m", "hi"))
		b.nextCall()
	})
}

func TestRejectedMessageMayBeRepeated(t *testing.T) {
	withEngine(t, engine.Options{Turns: limitTurns(1)}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		if got := b.send(newRequest("m2", "hi")).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Fatalf("Send() = %s", got)
		}
		c.endRun(nil)
		b.send(newRequest("m2", "hi"))
		b.nextCall()
	})
}

// The client of the first copy may disconnect while its message waits for a turn or for the
// store. The client of the second copy is still connected.
func TestRepeatedMessageOutlivesTheClientOfItsFirstCopy(t *testing.T) {
	t.Run("in the turn queue", func(t *testing.T) {
		limits := func() engine.TurnLimits {
			return engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 8, QueueTimeout: 5 * time.Second}
		}
		withEngine(t, engine.Options{Turns: limits}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m1", "hi"))
			running := b.nextCall()
			first := b.stream(newRequest("m2", "hi"))
			second := b.send(newRequest("m2", "hi"))
			third := b.stream(newRequest("m2", "hi"))
			first.cancel()
			if !second.pending() {
				t.Errorf("second Send() = %s, %v, want it to wait for a turn", second.result(), second.err)
			}
			running.endRun(nil)
			b.nextCall().finishTask(status(a2a.StateCompleted))
			second.want(t, "task:completed")
			third.want(t, "task:submitted status:completed EOF")
			b.wantNoCall()
		})
	})
	t.Run("at the store", func(t *testing.T) {
		asked := 0
		stalls := func(ctx context.Context, _ a2a.AccountingPrincipal) error {
			if asked++; asked > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		withEngine(t, engine.Options{Allow: stalls}, func(t *testing.T, b *fixture) {
			first := b.stream(newRequest("m", "hi"))
			second := b.send(newRequest("m", "hi"))
			first.cancel()
			b.nextCall().finishTask(status(a2a.StateCompleted))
			second.want(t, "task:completed")
		})
	})
}

func TestDeduplicatedMessagesAreBounded(t *testing.T) {
	withEngine(t, engine.Options{MaxDeduplicated: 3}, func(t *testing.T, b *fixture) {
		for i := range 4 {
			b.send(newRequest(strconv.Itoa(i), "hi"))
			b.nextCall().endRun(nil)
		}
		b.send(newRequest("3", "hi"))
		b.wantNoCall()
		b.send(newRequest("0", "hi"))
		b.nextCall()
	})
}

// Neither many messages of a namespace nor a large one of an owner make the engine forget those of another owner.
func TestDeduplicatedMessagesAreDividedAmongOwners(t *testing.T) {
	withEngine(t, engine.Options{MaxDeduplicated: 4, DeduplicatedBytes: 1 << 20}, func(t *testing.T, b *fixture) {
		b.send(requestOf("b", "b"))
		b.nextCall().endRun(nil)
		for i := range 8 {
			b.send(requestOf(a2a.Owner("system:serviceaccount:team:a"+strconv.Itoa(i)), "a"))
			b.nextCall().endRun(nil)
		}
		for _, owner := range []a2a.Owner{"c", "system:serviceaccount:team:large"} {
			large := requestOf(owner, "c")
			large.Message.Parts = []a2a.Part{a2a.TextPart(strings.Repeat("x", 2<<20))}
			b.send(large)
			b.nextCall().endRun(nil)
		}
		b.send(requestOf("b", "b"))
		b.send(requestOf("system:serviceaccount:team:a7", "a"))
		b.wantNoCall()
		b.send(requestOf("system:serviceaccount:team:a0", "a"))
		b.nextCall()
	})
}
