// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// hold removes from events the messages without a status whose place depends on what follows, and
// returns the events to append. It holds the newest message (run.held) until
//
//   - another event follows: the message becomes the message of a status,
//   - another message with its id follows: each of them is a chunk of one artifact,
//   - the response of the agent ends: the message is the answer, without a task if there is none,
//   - Options.DecideAfter has passed: as with another event.
//
// If there is a task, hold holds only messages with an id, because others have no chunks, and none
// while the task is interrupted, because another run may replace r.
func (t *task) hold(ctx context.Context, r *run, events []a2a.Event) []a2a.Event {
	if r.held == nil && !hasMessage(events) {
		return events
	}
	out := make([]a2a.Event, 0, len(events)+1)
	for i := range events {
		m := events[i].Message
		if m == nil {
			out = append(r.place(out), events[i])
			continue
		}
		if r.isChunk(m) {
			out = r.addChunk(out, m)
			continue
		}
		out = r.place(out)
		r.held = m
	}
	switch {
	case r.held == nil:
	case t.log == nil && len(out) == 0: // the timer of decideSilentTurn runs
	case r.held.ID == "", stateAfter(t.state(), out).Interrupted():
		out = r.place(out)
	default:
		m := r.held
		time.AfterFunc(t.engine.options.DecideAfter, func() { t.heldLongEnough(ctx, r, m) })
	}
	return out
}

// stateAfter returns the state to which events lead from a state.
func stateAfter(state a2a.State, events []a2a.Event) a2a.State {
	for i := range events {
		state, _ = transition(state, &events[i])
	}
	return state
}

func hasMessage(events []a2a.Event) bool {
	for i := range events {
		if events[i].Message != nil {
			return true
		}
	}
	return false
}

// place appends the held message to events, if there is one.
func (r *run) place(events []a2a.Event) []a2a.Event {
	if r.held == nil {
		return events
	}
	events = append(events, a2a.Event{Message: r.held})
	r.held = nil
	return events
}

// former returns the newest message without a status, which m may continue.
func (r *run) former() *a2a.Message {
	if r.held != nil {
		return r.held
	}
	return r.lastMessage
}

// isChunk reports whether a message without a status continues an earlier one.
func (r *run) isChunk(m *a2a.Message) bool {
	former := r.former()
	return m.ID != "" && (r.chunked[m.ID] != "" || former != nil && former.ID == m.ID)
}

// addChunk appends a chunk of a message to events, as an update of an artifact: the artifact of the
// turn or, if the agent has written to it already, one with the id of the message. The first update
// also has the parts of the former message with this id.
func (r *run) addChunk(events []a2a.Event, m *a2a.Message) []a2a.Event {
	chunk := func(artifact string, m *a2a.Message, follows bool) a2a.Event {
		return a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: artifact, Parts: m.Parts, Metadata: m.Metadata, Extensions: m.Extensions},
			Append:   follows, JoinText: true,
		}}
	}
	if artifact := r.chunked[m.ID]; artifact != "" {
		return append(r.place(events), chunk(artifact, m, true))
	}
	if r.chunked == nil {
		r.chunked = map[string]string{}
	}
	artifact := r.artifactID()
	if r.wroteArtifact || len(r.chunked) > 0 {
		artifact = m.ID
	}
	r.chunked[m.ID] = artifact
	events = append(events, chunk(artifact, r.former(), false), chunk(artifact, m, true))
	r.held = nil
	r.lastMessage = nil
	return events
}

// heldLongEnough releases m if it is still held.
func (t *task) heldLongEnough(ctx context.Context, r *run, m *a2a.Message) {
	t.lock(ctx)
	defer t.unlock()
	if r.held == m && !r.ignored {
		t.releaseHeld(ctx, r)
	}
}

// releaseHeld appends the held message of a run, if there is one, as the message of a status. It
// creates the task if it does not exist. If that fails, the turn fails.
func (t *task) releaseHeld(ctx context.Context, r *run) {
	if r.held == nil {
		return
	}
	events := r.place(nil)
	if err := t.appendEmitted(ctx, r, events); err != nil {
		r.turn.refuse(err)
		r.cancel(err)
	}
}

// answerWithoutTask ends a turn with a message of the agent instead of a task.
func (t *task) answerWithoutTask(ctx context.Context, r *run, m *a2a.Message) {
	t.fill(m)
	m.TaskID = ""
	r.ignored = true
	t.engine.freeTurn(r)
	t.remember(ctx, m)
	r.turn.decideWithAnswer(m)
	t.engine.recent.addBytes(r.turn, m.Size())
}
