// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

const inputRequired = "input-required"

// drive sends the messages of a task, and reads on until the task ends.
func (r *reader) drive(ctx context.Context, chance float64) {
	turn, send := 1, true
	for !r.over && ctx.Err() == nil {
		var leg history.Leg
		if send {
			leg = r.read(ctx, r.message(turn), r.plan(chance), func(*history.Event) bool { return false })
		} else {
			leg = r.read(ctx, &client.Ask{TaskID: r.id(), After: r.after()}, r.plan(chance), r.asked)
		}
		switch {
		case r.over || leg.Outcome == history.NotFound || leg.Outcome == history.Over && !send:
			return
		case r.other:
			return // what it was about is forgotten, and the message began anew
		case leg.Outcome == history.Refused:
			return
		case leg.Outcome == history.Over:
			send = false
			continue
		case r.id() == "":
			r.rest(ctx) // nobody knows whether it was taken: the same message again
			continue
		case r.asks(turn):
			turn, send = turn+1, true
			continue
		}
		if len(leg.Events) == 0 {
			r.rest(ctx)
		}
		send = r.again(ctx, turn, send, len(leg.Events) > 0)
		if !send && r.asks(turn) {
			turn, send = turn+1, true
		}
	}
}

// asks reports whether a turn was said to its end, and ended with a question.
func (r *reader) asks(turn int) bool {
	return r.state == inputRequired && r.said >= turn*r.script.Chunks
}

// again reports whether a message must be sent once more: nobody knows whether
// it was taken, or it is told that it was not.
func (r *reader) again(ctx context.Context, turn int, sent, answered bool) bool {
	unanswered := r.state == inputRequired && turn > 1 // and the question is an earlier turn's
	switch {
	case r.dialect.NamesTasks:
		return (answered && unanswered || !answered && sent) && r.untaken(ctx, turn)
	case !answered:
		return sent
	// A client that lost its stream may also send its message again, which is the
	// same message.
	case sent && turn == 1 && r.rng.IntN(4) == 0:
		return true
	}
	return unanswered
}

// onItsWay is how long a message may be on its way to a task after the sidecar
// that got it is gone.
const onItsWay = 500 * time.Millisecond

// untaken reports whether a message that has no id was not taken. Sent again, it
// would be another one, so its client looks what came of it. Streams do not tell:
// they begin with the state, and with one piece for each turn, of which nobody
// knows which is the last.
func (r *reader) untaken(ctx context.Context, turn int) bool {
	wait := onItsWay
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
		e, err := r.dialect.Get(ctx, r.any(r.rng), r.id())
		if err == nil {
			r.state, r.said = e.State, r.chunksIn(e.Text)
			return turn > 1 && r.state == inputRequired && !r.asks(turn)
		}
		if outcome, _ := client.OutcomeOf(err); outcome == history.NotFound {
			return !r.acknowledged
		}
		wait = 20 * time.Millisecond
	}
}

// asked reports whether the task waits for its driver.
func (r *reader) asked(e *history.Event) bool {
	return r.state == inputRequired && e.Kind != history.Standing
}

// message is the one of a turn.
func (r *reader) message(turn int) *client.Ask {
	s := r.script
	s.Turn = turn
	a := &client.Ask{Text: s.String(), MessageID: s.Token + "-" + strconv.Itoa(turn)}
	if turn > 1 {
		a.TaskID = r.id()
	}
	if r.dialect.NamesTasks {
		a.NewID = s.Token
		if turn == 1 {
			r.call(s.Token)
		}
	}
	return a
}

// watch reads a task that somebody else drives, until it ends.
func (r *reader) watch(ctx context.Context, chance float64) {
	select {
	case <-r.known:
	case <-ctx.Done():
	}
	if r.id() == "" {
		return
	}
	var after *uint64
	if r.rng.IntN(2) == 0 {
		after = new(uint64) // from the first event on
	}
	r.follow(ctx, after, chance)
}

// follow reads a task from behind an event to its end.
func (r *reader) follow(ctx context.Context, after *uint64, chance float64) {
	for !r.over && ctx.Err() == nil {
		leg := r.read(ctx, &client.Ask{TaskID: r.id(), After: after}, r.plan(chance), func(*history.Event) bool { return false })
		if leg.Outcome == history.NotFound || leg.Outcome == history.Over || leg.Outcome == history.Refused {
			return
		}
		if len(leg.Events) == 0 {
			r.rest(ctx)
		}
		if next := r.after(); next != nil || len(leg.Events) > 0 {
			after = next
		}
	}
}
