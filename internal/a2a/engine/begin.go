// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// firstEventCount is the number of events with which every task begins.
const firstEventCount = 2

// firstEvents returns the events with which the task of a turn begins: the message and
// the state submitted. The slice is valid until the next append.
func (t *task) firstEvents(tn *turn) []a2a.Event {
	return append(t.batch[:0], a2a.Event{Message: tn.logged}, t.statusEvent(a2a.StateSubmitted, nil))
}

// create creates the task of a turn. events begin with firstEvents, and may have events of
// the agent after them.
func (t *task) create(ctx context.Context, tn *turn, events []a2a.Event) error {
	origin := store.Origin{ContextID: t.contextID, Dialect: tn.request.Dialect}
	t.descriptor = tn.descriptor(1)
	log, err := t.engine.coordinator.Create(ctx, store.NewTask{
		Key: t.key, Origin: origin, Events: events, Write: store.Write{RetryFor: beginRetryFor, Turn: &t.descriptor},
	}, tn.term)
	if err != nil {
		return storeError("create task", t.key.TaskID, err)
	}
	t.move(onCreate)
	t.log = log
	t.seq = uint64(len(events))
	fold := store.NewFold(t.key.TaskID, origin)
	t.appliedFirst(ctx, fold, events[:firstEventCount])
	// If the message has a push configuration, events has only the first events, because the
	// task is created before the call of the agent. The configuration therefore misses no event
	// of the agent.
	if err := t.attachPush(ctx, tn); err != nil {
		state := a2a.StateRejected
		reason := reasonPush
		if outage(err) {
			state = a2a.StateFailed
			reason = reasonStore
		}
		t.appendEnd(ctx, t.statusEvent(state, t.agentMessage(reason)))
		if !t.state().Terminal() {
			t.engine.coordinator.RefuseTurn(t.key) // the store may lack the status
		}
		return err
	}
	t.turnBegan(tn, fold, firstEventCount)
	t.batch = events
	t.applied(ctx, events[firstEventCount:])
	return nil
}

// createWith creates the task of a turn with events of the agent. If the store has no
// room for all events, createWith first creates the task and then appends the events of
// the agent. A full store accepts this append if the events end the task; otherwise the
// task fails as too large.
func (t *task) createWith(ctx context.Context, tn *turn, events []a2a.Event) error {
	err := t.create(ctx, tn, events)
	if len(events) == firstEventCount || !errors.Is(err, store.ErrFull) {
		return err
	}
	if err := t.create(ctx, tn, events[:firstEventCount]); err != nil {
		return err
	}
	return t.append(ctx, events[firstEventCount:])
}

// begin appends the message of a turn to the log of its task. The agent receives the
// task as it was before the message.
func (t *task) begin(ctx context.Context, tn *turn) error {
	return t.appendMessage(ctx, tn, t.beginAfter)
}

// appendMessage reads the current task and passes it to after, which makes one append for
// the message of tn. It repeats both while the append fails because the log has newer
// events.
//
// If a run of the task is in progress, appendMessage gives the task up (lose) in these cases:
// the append is indeterminate, the store has lost events, another replica holds the task, or
// another replica has appended a message. The log then has, or may have, a message that the
// run did not receive, so the run must not complete the task.
func (t *task) appendMessage(ctx context.Context, tn *turn, after func(context.Context, *turn, *a2a.Task) error) error {
	for {
		turns := t.turns
		record, err := t.read(ctx)
		switch {
		case err != nil:
			return err
		case t.working() && t.turns != turns:
			t.lose(errLost) // the run did not receive all messages
			return errMoving()
		}
		if err := t.accepts(ctx, tn); err != nil {
			return err
		}
		err = after(ctx, tn, record.Task)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrConflict):
			continue
		case (errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrRolledBack)) && t.working() && t.phase != phaseLost:
			t.lose(errStore)
		case errors.Is(err, store.ErrHeld) && t.working() && t.phase != phaseLost:
			t.lose(errLost)
		}
		return storeError("append to task", t.key.TaskID, err)
	}
}

// beginAfter is one attempt of begin. before is the task as it was last read.
func (t *task) beginAfter(ctx context.Context, tn *turn, before *a2a.Task) error {
	tn.taskBefore = withoutStaleNote(before)
	tn.message.ContextID = t.contextID
	tn.logged = t.loggedForm(tn.message)
	events := append(t.batch[:0], a2a.Event{Message: tn.logged}, t.statusEvent(a2a.StateWorking, nil))
	descriptor := tn.descriptor(t.seq + 1)
	a := store.Append{
		After: t.seq, Events: events, Hold: store.Take,
		Write: store.Write{RetryFor: beginRetryFor, Turn: &descriptor},
	}
	if tn.continues {
		a.Hold = store.Continue
	}
	seq, err := t.appendBegin(ctx, tn, a)
	if err != nil {
		return err
	}
	t.seq = seq
	t.descriptor = descriptor
	t.canceled.Store(false)
	t.turns++
	tn.number = t.turns
	if tn.continues {
		t.engine.recent.forgetTask(t.key)
	}
	fold := store.Resume(before)
	t.appliedFirst(ctx, fold, events)
	t.turnBegan(tn, fold, seq)
	return nil
}

// appendBegin appends the first events of a turn. For a message that was accepted earlier,
// it calls Append and not Begin (coordination.Ownership): Begin marks a message as refused
// after an indeterminate append, but the client of an accepted message has an answer
// already. After an indeterminate append, the replica that takes the task over re-runs or
// fails the turn of the accepted message.
func (t *task) appendBegin(ctx context.Context, tn *turn, a store.Append) (uint64, error) {
	if tn.acceptedAt == 0 {
		return t.engine.coordinator.Begin(ctx, t.key, t.log, a)
	}
	a.Events[len(a.Events)-1].Status.Metadata = t.unprocessed()
	a.Waiting = &store.WaitingChange{Remove: tn.acceptedAt}
	a.RetryFor = t.engine.options.OutageRetryFor
	return t.engine.coordinator.Append(ctx, t.log, a)
}

// withoutStaleNote returns a task without the backend's note if the task is terminal,
// because the note is about the run that has ended.
func withoutStaleNote(t *a2a.Task) *a2a.Task {
	if !t.Status.State.Terminal() || t.Note == "" {
		return t
	}
	bare := *t
	bare.Note = ""
	return &bare
}

// accepts returns an error if the state of the task does not allow a turn to begin, and
// errFollowed if tn now follows the turn of an earlier copy of its message.
func (t *task) accepts(ctx context.Context, tn *turn) error {
	var followed bool
	var err error
	if tn.acceptedAt == 0 { // an accepted message was compared when it was accepted
		followed, err = t.followRepeated(ctx, tn)
	}
	switch {
	case err != nil:
		return err
	case followed:
		return errFollowed
	case tn.onlyPaused && !t.state().Interrupted():
		return errNotPaused
	case t.state().Terminal() && !tn.request.Restart:
		t.move(onEnd)
		t.ended(nil, errOver)
		return errTerminal(tn)
	default:
		return nil
	}
}

// appliedFirst applies the first events of a turn, which the log has stored, to the fold
// and to the task in memory. It does not read the log, because a read could fail.
func (t *task) appliedFirst(ctx context.Context, fold *store.Fold, events []a2a.Event) {
	for i := range events {
		fold.Apply(&events[i])
	}
	t.batch = events
	t.applied(ctx, events)
}

// turnBegan decides a turn with the task in fold, which has the first events of the turn.
// seq is the number of the last of these events.
func (t *task) turnBegan(tn *turn, fold *store.Fold, seq uint64) {
	t.decide(tn, &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}})
	t.begun = append(t.begun, tn)
	t.engine.recent.began(tn, t.key)
}

// decide decides a turn with the task at its beginning. If no other replica uses the store, a full
// store evicts the task after others until the clients of the turn have their answers.
func (t *task) decide(tn *turn, first *a2a.Record) {
	if t.engine.coordinator.Exclusive() {
		tn.clients.watch(t.log)
	}
	tn.decideWithTask(t.log, first)
}

// attachPush registers the push configuration that came with a message. It continues when
// the client disconnects, as the task does. The store limits the time of the call.
func (t *task) attachPush(ctx context.Context, tn *turn) error {
	if tn.request.Push == nil {
		return nil
	}
	config := *tn.request.Push
	config.TaskID = t.key.TaskID
	err := t.engine.options.Pushes.Attach(context.WithoutCancel(ctx), t.key, config, t.seq)
	return wrapUnlessClientError("attach push configuration", err)
}

// followRepeated makes tn follow the turn of an earlier copy of its message, and reports
// whether it did. The copy must be the client's last message in the task, and its turn must not
// have ended before the deduplication window. This happens if one replica processes the first
// copy, another replica refuses the second copy, and the client sends the message once more.
func (t *task) followRepeated(ctx context.Context, tn *turn) (followed bool, err error) {
	if t.engine.coordinator.Exclusive() || tn.recent == nil {
		return false, nil
	}
	ctx, release := t.engine.options.Loads.Briefly(ctx, t.key.Owner)
	defer release()
	now, err := t.log.Snapshot(ctx)
	if err != nil {
		return false, storeError("read task", t.key.TaskID, err)
	}
	if !tn.request.ClientTaskID && t.turns == 1 {
		return false, nil // a client may reuse the id of the message that created the task
	}
	m := tn.message
	last := lastOfClient(now.Task.History)
	if last == nil || last.ID != m.ID ||
		!reflect.DeepEqual(last.Parts, m.Parts) && !reflect.DeepEqual(last.Parts, m.Redacted().Parts) {
		return false, nil
	}
	seq, err := coordination.FindMessage(ctx, t.log, tn.request)
	if err != nil || seq == 0 {
		return false, storeErrorOrNil("read task", t.key.TaskID, err)
	}
	ended := now.Task.Status.State.Terminal() || now.Task.Status.State.Interrupted()
	if ended && t.engine.options.Now().Sub(now.Task.Status.Time) > t.engine.options.DeduplicationWindow() {
		return false, nil
	}
	first, err := t.engine.taskAt(ctx, t.log, t.key, seq+1)
	if err != nil {
		return false, err
	}
	tn.foundInLog = true
	tn.follow(t.log, t.key, first)
	return true, nil
}

func lastOfClient(history []*a2a.Message) *a2a.Message {
	for _, m := range slices.Backward(history) {
		if m.Role == a2a.RoleUser {
			return m
		}
	}
	return nil
}

// ensureCreated creates the task of a run if it does not exist yet.
func (t *task) ensureCreated(ctx context.Context, r *run) error {
	if t.log != nil {
		return nil
	}
	return t.create(ctx, r.turn, t.firstEvents(r.turn))
}

// loggedForm returns the form of a message in the log: a redacted copy if the message
// answers a request for sensitive input, and otherwise the message itself.
func (t *task) loggedForm(m *a2a.Message) *a2a.Message {
	if request, ok := t.inputRequest(); ok && request.Sensitive {
		return m.Redacted()
	}
	return m
}
