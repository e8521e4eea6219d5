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

// drive sends the messages of a task, and reads its streams until the task ends.
func (r *reader) drive(ctx context.Context, chance float64) {
	turn, send := 1, true
	for !r.ended && ctx.Err() == nil {
		var record history.Stream
		if send {
			record = r.read(ctx, r.message(turn), r.planFault(chance), func(*history.Event) bool { return false })
		} else {
			record = r.read(ctx, &client.Request{TaskID: r.id(), After: r.after()}, r.planFault(chance), r.questionAsked)
		}
		switch {
		case r.ended || record.Outcome == history.NotFound || record.Outcome == history.AlreadyEnded && !send:
			return
		case r.forked:
			return // the sidecar lost the task, and the message created a second one
		case record.Outcome == history.Refused:
			return
		case record.Outcome == history.AlreadyEnded:
			send = false
			continue
		case r.id() == "":
			r.backoff(ctx) // the outcome is unknown: send the same message again
			continue
		case r.turnAsked(turn):
			turn, send = turn+1, true
			continue
		}
		if len(record.Events) == 0 {
			r.backoff(ctx)
		}
		send = r.mustResend(ctx, turn, send, len(record.Events) > 0)
		if !send && r.turnAsked(turn) {
			turn, send = turn+1, true
		}
	}
}

// turnAsked reports whether the reader received all chunks of a turn and the task waits for input.
func (r *reader) turnAsked(turn int) bool {
	return r.state == inputRequired && r.chunksSeen >= turn*r.script.Chunks
}

// mustResend reports whether the reader must send the message of the turn again: because its outcome is unknown, or
// because the sidecar did not accept it.
func (r *reader) mustResend(ctx context.Context, turn int, sent, answered bool) bool {
	unanswered := r.state == inputRequired && turn > 1 // the question belongs to an earlier turn
	switch {
	case r.dialect.NamesTasks:
		return (answered && unanswered || !answered && sent) && r.notAccepted(ctx, turn)
	case !answered:
		return sent
	// A client that lost its stream may also send the message again; the sidecar deduplicates it.
	case sent && turn == 1 && r.rng.IntN(4) == 0:
		return true
	}
	return unanswered
}

// deliveryTime bounds the time in which a message reaches its task after the sidecar that received it was killed.
const deliveryTime = 500 * time.Millisecond

// notAccepted reports whether a client of 0.1 must send the message of a turn again. Messages of 0.1 have no id, so the
// sidecar cannot deduplicate them, and the client first reads the task. A stream does not show whether the sidecar accepted
// the message: it begins with the state and one chunk for each turn, without the number of the turn.
func (r *reader) notAccepted(ctx context.Context, turn int) bool {
	wait := deliveryTime
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
		e, err := r.dialect.Get(ctx, r.anyAddress(r.rng), r.id())
		if err == nil {
			r.state, r.chunksSeen = e.State, r.chunksIn(e.Text)
			return turn > 1 && r.state == inputRequired && !r.turnAsked(turn)
		}
		if outcome, _ := client.OutcomeOf(err); outcome == history.NotFound {
			return !r.acknowledged
		}
		wait = 20 * time.Millisecond
	}
}

// questionAsked reports whether an event shows that the task waits for input. A Standing event does not count: it shows
// the state at the start of the stream, before the chunks of the turn.
func (r *reader) questionAsked(e *history.Event) bool {
	return r.state == inputRequired && e.Kind != history.Standing
}

// message returns the message of a turn.
func (r *reader) message(turn int) *client.Request {
	s := r.script
	s.Turn = turn
	a := &client.Request{Text: s.String(), MessageID: s.Token + "-" + strconv.Itoa(turn)}
	if turn > 1 {
		a.TaskID = r.id()
	}
	if r.dialect.NamesTasks {
		a.NewID = s.Token
		if turn == 1 {
			r.setID(s.Token)
		}
	}
	return a
}

// watch reads a task that another reader drives, until the task ends.
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
		after = new(uint64) // from the first event
	}
	r.follow(ctx, after, chance)
}

// follow reads the streams of a task after an event, until the task ends.
func (r *reader) follow(ctx context.Context, after *uint64, chance float64) {
	for !r.ended && ctx.Err() == nil {
		record := r.read(ctx, &client.Request{TaskID: r.id(), After: after}, r.planFault(chance), func(*history.Event) bool { return false })
		if record.Outcome == history.NotFound || record.Outcome == history.AlreadyEnded || record.Outcome == history.Refused {
			return
		}
		if len(record.Events) == 0 {
			r.backoff(ctx)
		}
		if next := r.after(); next != nil || len(record.Events) > 0 {
			after = next
		}
	}
}
