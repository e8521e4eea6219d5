// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// named returns a message of the agent with an id.
func named(id, text string) a2a.Event {
	return a2a.Event{Message: &a2a.Message{ID: id, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}}
}

// TestWhatFollowsAMessage tests every event that may follow a message with which an agent
// begins. Events in one slice arrive together.
func TestWhatFollowsAMessage(t *testing.T) {
	history := a2a.Event{Task: &a2a.Task{Status: a2a.Status{State: a2a.StateCompleted}, History: []*a2a.Message{
		{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
		{ID: "a", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("the-")}},
		{ID: "a", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("end")}},
	}}}
	for name, tt := range map[string]struct {
		events [][]a2a.Event
		err    error
		want   string
	}{
		"nothing":            {[][]a2a.Event{{message("one")}}, nil, "message:one EOF"},
		"a second message":   {[][]a2a.Event{{message("one"), message("two")}}, nil, "task:submitted status:working(one) status:working(two) status:completed(two) EOF"},
		"a later message":    {[][]a2a.Event{{message("one")}, {message("two")}}, nil, "task:submitted status:working(one) status:working(two) status:completed(two) EOF"},
		"a question":         {[][]a2a.Event{{message("one")}, {status(a2a.StateInputRequired, "which?")}}, nil, "task:submitted status:working(one) status:input-required(which?) EOF"},
		"a pause":            {[][]a2a.Event{{message("one"), status(a2a.StateInputRequired)}}, nil, "task:submitted status:working(one) status:input-required(one) EOF"},
		"an artifact":        {[][]a2a.Event{{message("one")}, {chunk("x")}}, nil, "task:submitted status:working(one) artifact:turn-1=x status:completed(one) EOF"},
		"a status":           {[][]a2a.Event{{message("one")}, {status(a2a.StateWorking)}, {status(a2a.StateCompleted)}}, nil, "task:submitted status:working(one) status:working status:completed(one) EOF"},
		"a status with text": {[][]a2a.Event{{message("one"), status(a2a.StateCompleted, "two")}}, nil, "task:submitted status:working(one) status:completed(two) EOF"},
		"a failure":          {[][]a2a.Event{{message("one")}}, backend.Failed("it broke", nil), "task:submitted status:working(one) status:failed(it broke) EOF"},
		"a failed status":    {[][]a2a.Event{{message("why"), status(a2a.StateFailed)}}, nil, "task:submitted status:working(why) status:failed(why) EOF"},
		"a chunk of it": {
			[][]a2a.Event{{named("a", "the")}, {named("a", "end"), named("a", ".")}, {status(a2a.StateCompleted)}},
			nil, "task:submitted status:working artifact:turn-1=the artifact:turn-1+end artifact:turn-1+. status:completed EOF",
		},
		"chunks and no status": {
			[][]a2a.Event{{named("a", "the"), named("a", "end")}},
			nil, "task:submitted status:working artifact:turn-1=the artifact:turn-1+end status:completed EOF",
		},
		"chunks of two messages": {
			[][]a2a.Event{{named("a", "1"), named("a", "2")}, {named("b", "3"), named("b", "4")}},
			nil, "task:submitted status:working artifact:turn-1=1 artifact:turn-1+2 artifact:b=3 artifact:b+4 status:completed EOF",
		},
		"a task with a history": {[][]a2a.Event{{history}}, nil, "task:submitted status:completed(the-end) EOF"},
		"a task with the same history": {
			[][]a2a.Event{{chunk("x"), history}},
			nil, "task:submitted status:working artifact:turn-1=x status:completed EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				stream := b.stream(newRequest("m", "hi"))
				c := b.nextCall()
				var end error
				for _, events := range tt.events {
					if end = c.emitEvents(events...); end != nil {
						break
					}
				}
				if end == nil {
					end = tt.err
				}
				c.endRun(end)
				stream.want(t, tt.want)
				b.wantNoCall()
			})
		})
	}
}

// TestMessageIsNotHeldForLong checks that a client sees a message although the agent does not end
// its response.
func TestMessageIsNotHeldForLong(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		stream := b.stream(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(named("a", "one"))
		stream.want(t, "")
		time.Sleep(time.Second)
		stream.want(t, "task:submitted status:working(one)")
		c.mustEmit(named("b", "two"))
		time.Sleep(time.Second)
		stream.want(t, "task:submitted status:working(one) status:working(two)")
		c.mustEmit(named("b", "three"))
		c.endRun(nil)
		stream.want(t, "task:submitted status:working(one) status:working(two) artifact:turn-1=two artifact:turn-1+three status:completed EOF")
	})
}

// TestMessageAfterAPauseIsNotHeld checks that the run of an input cannot displace a message that the
// waiting run has sent.
func TestMessageAfterAPauseIsNotHeld(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		stream := b.stream(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "which?"), named("a", "take your time"))
		stream.want(t, "task:submitted status:input-required(which?)/paused status:input-required(take your time) EOF")
	})
}

// TestAPanicEndsItsTurnOnly lets the backend panic. The turn fails, and the next message runs.
func TestAPanicEndsItsTurnOnly(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		stream := b.stream(newRequest("m1", "hi"))
		b.nextCall().steps <- func() { panic("a text that the backend cannot read") }
		stream.want(t, "task:submitted status:failed(The sidecar cannot handle what the agent sent) EOF")
		next := b.stream(newRequest("m2", "hi"))
		b.nextCall().endRun(nil)
		next.want(t, "task:submitted status:completed EOF")
	})
}
