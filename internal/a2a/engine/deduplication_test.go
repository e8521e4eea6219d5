// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

func TestSameMessageJoinsItsTurn(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		first := b.send(say("m", "hi"))
		c := b.call()
		again := b.send(say("m", "hi"))
		c.must(chunk("x"))
		stream := b.stream(say("m", "hi"))
		stream.want(t, "task:submitted status:working artifact:turn-1+x")
		c.finishes(status(a2a.StateCompleted))
		stream.want(t, "task:submitted status:working artifact:turn-1+x status:completed EOF")
		after := b.send(say("m", "hi"))
		for _, s := range []*sent{first, again, after} {
			if got := s.result(); got != "task:completed" || s.event.Task.ID != c.TaskID {
				t.Errorf("Send() = %s", got)
			}
		}
		b.noCall()
	})
}

func TestSameMessageGetsTheSameAnswer(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		first := b.send(say("m", "hi"))
		c := b.call()
		_ = c.says(message("hello"))
		c.ends(nil)
		again := b.send(say("m", "hi"))
		if again.result() != "message:hello" || again.event.Message != first.event.Message {
			t.Errorf("Send() = %s", again.result())
		}
		b.noCall()
	})
}

func TestOtherMessagesDoNotJoin(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m", "hi"))
		b.call()
		owner, context, metadata, reference := say("m", "hi"), say("m", "hi"), say("m", "hi"), say("m", "hi")
		owner.Owner = "other"
		context.Message.ContextID = "c"
		metadata.Metadata = a2a.Object(`{"k":1}`)
		reference.Message.ReferenceTasks = []string{"t"}
		split := say("m", "")
		split.Message.Parts = []a2a.Part{a2a.TextPart("h"), a2a.TextPart("i")}
		for _, r := range []*a2a.SendRequest{say("m", "other"), say("n", "hi"), say("", "hi"), say("", "hi"), owner, context, metadata, reference, split} {
			b.send(r)
			b.call()
		}
	})
}

func TestMessageIsForgottenAfterAMinute(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m", "hi"))
		b.call().ends(nil)
		time.Sleep(time.Minute - time.Second)
		b.send(say("m", "hi"))
		b.noCall()
		time.Sleep(time.Second)
		b.send(say("m", "hi"))
		b.call()
	})
}

func TestRefusedMessageMayBeSentAgain(t *testing.T) {
	play(t, engine.Options{Turns: atMost(1)}, func(t *testing.T, b *bench) {
		b.send(say("m1", "hi"))
		c := b.call()
		if got := b.send(say("m2", "hi")).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Fatalf("Send() = %s", got)
		}
		c.ends(nil)
		b.send(say("m2", "hi"))
		b.call()
	})
}

func TestDeduplicatedMessagesAreBounded(t *testing.T) {
	play(t, engine.Options{MaxDeduplicated: 3}, func(t *testing.T, b *bench) {
		for i := range 4 {
			b.send(say(strconv.Itoa(i), "hi"))
			b.call().ends(nil)
		}
		b.send(say("3", "hi"))
		b.noCall()
		b.send(say("0", "hi"))
		b.call()
	})
}
