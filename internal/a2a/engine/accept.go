// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"reflect"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// elsewhereError is the error for a message whose task another replica runs.
type elsewhereError struct{ replica store.Replica }

func (e *elsewhereError) Error() string { return "task is run by " + string(e.replica) }

// accept accepts or refuses the message of a turn. The message names the task.
func (t *task) accept(ctx context.Context, tn *turn) error {
	if err := t.lockWithin(ctx); err != nil {
		return err
	}
	defer t.unlock()
	if t.log == nil {
		if created, err := t.createNamed(ctx, tn); created || err != nil {
			return err
		}
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	return t.acceptLoaded(ctx, tn)
}

// createNamed creates the task whose id the client chose (0.1). If another replica has
// created the task meanwhile, it opens the log and returns false. If the client did not
// choose the id, it returns a TASK_NOT_FOUND error.
func (t *task) createNamed(ctx context.Context, tn *turn) (created bool, err error) {
	if !tn.request.ClientTaskID {
		return false, a2a.TaskNotFound(t.key.TaskID)
	}
	if t.phase != phaseUnread {
		// A running turn has this task id and has not created the task. Its agent may still
		// answer without a task.
		return false, a2a.InvalidParams("message.taskId", "is in use by a message that has not created its task yet; try again, or use another id")
	}
	if err = t.startFirstTurn(ctx, tn, true); !errors.Is(err, store.ErrExists) {
		return err == nil, err
	}
	t.contextID = ""
	t.log, err = t.engine.open(ctx, t.key)
	return false, err
}

// startFirstTurn starts the first turn of a task. If createNow is false, the task is created
// later: when the agent sends its first event, or has sent none for Options.DecideAfter. If
// the agent answers without a task, the task is not created.
func (t *task) startFirstTurn(ctx context.Context, tn *turn, createNow bool) error {
	m := tn.message
	contextID := m.ContextID
	tn.newContext = contextID == ""
	if tn.newContext {
		m.ContextID = newID()
	}
	if err := t.engine.reserveRun(t, tn, true); err != nil {
		return err
	}
	t.move(onStart)
	t.contextID = m.ContextID
	t.turns = 1
	tn.number = 1
	if createNow {
		if err := t.create(ctx, tn, t.firstEvents(tn)); err != nil {
			t.move(onRefuse)
			t.engine.cancelReservation(t, tn)
			m.ContextID = contextID
			return err
		}
	}
	t.startRun(ctx, tn)
	return nil
}

// acceptLoaded accepts a message for a task that exists: it starts a run, delivers the
// message to the run that waits for input, or queues the message.
func (t *task) acceptLoaded(ctx context.Context, tn *turn) error {
	tn.continues = false
	if err := t.ensureOwner(ctx); err != nil {
		return err
	}
	if tn.onlyPaused && !t.awaitsMessage() {
		return errNotPaused
	}
	if c := tn.message.ContextID; c != "" && c != t.contextID {
		err := a2a.InvalidParams("message.contextId", "is not the context of the task")
		err.TaskID = t.key.TaskID
		return err
	}
	switch t.phase {
	case phaseEnded:
		if !tn.request.Restart {
			return t.refuseEnded(ctx, tn)
		}
		if !t.working() {
			return t.continueTask(ctx, tn)
		}
	case phaseUnread, phaseFree:
		return t.continueTask(ctx, tn)
	case phasePaused:
		if t.awaitsMessage() {
			return t.continueTask(ctx, tn)
		}
	default: // a turn runs here
	}
	return t.enqueue(ctx, tn)
}

// refuseEnded refuses a message to a task that has ended, unless the message repeats the last one.
func (t *task) refuseEnded(ctx context.Context, tn *turn) error {
	if followed, err := t.followRepeated(ctx, tn); followed || err != nil {
		return err
	}
	return errTerminal(tn)
}

// ensureOwner returns nil if this replica may begin a turn of the task. It takes over an
// orphaned task. It returns an elsewhereError if a living replica other than this one holds
// the task, and errMoving while the task is being given up or taken over.
func (t *task) ensureOwner(ctx context.Context) error {
	if t.working() {
		if t.phase == phaseLost {
			return errMoving()
		}
		return nil
	}
	owner, err := t.engine.coordinator.Owner(ctx, t.key)
	switch {
	case err != nil:
		return storeError("read owner of task", t.key.TaskID, err)
	case owner.Alive:
		t.move(onForeign)
		return &elsewhereError{owner.Replica}
	case owner.Replica == "":
		return nil
	}
	if err := t.failOrRerun(ctx, &owner); errors.Is(err, errNotBegun) {
		return errMoving()
	} else if err != nil {
		return storeError("take over task", t.key.TaskID, err)
	}
	if s := t.state(); !t.working() && !s.Terminal() && !s.Interrupted() {
		return errMoving()
	}
	return nil
}

// awaitsMessage reports whether the task is paused and no message waits or is being
// delivered.
func (t *task) awaitsMessage() bool {
	return t.state().Interrupted() && t.input == nil && len(t.waiting) == 0
}

// enqueue adds a message to the waiting messages of the task. If the request sets
// ReturnImmediately, enqueue first stores the message (acceptAfter), unless the task waits
// for sensitive input. If an equal message waits already, tn follows it.
func (t *task) enqueue(ctx context.Context, tn *turn) error {
	if t.followWaiting(tn) {
		return nil
	}
	if len(t.waiting) >= t.engine.options.MaxWaiting || !t.engine.reserveWaitingBytes(tn) {
		return errTooManyWaiting(t.key.TaskID)
	}
	err := t.attachPush(ctx, tn)
	// The answer to a request for sensitive input must not be stored. It waits in memory,
	// and its client waits for the turn.
	request, _ := t.inputRequest()
	if err == nil && tn.request.ReturnImmediately && !request.Sensitive {
		err = t.appendMessage(ctx, tn, t.acceptAfter)
	}
	if err != nil {
		t.engine.releaseWaitingBytes(tn)
		if errors.Is(err, errFollowed) {
			return nil
		}
		return err
	}
	t.waiting = append(t.waiting, tn)
	return nil
}

// followWaiting makes tn follow an accepted message that waits and has the same id and
// parts, and reports whether there is one. A client sends a message again if the replica
// that accepted the first copy ended before it answered the client.
func (t *task) followWaiting(tn *turn) bool {
	if t.engine.coordinator.Exclusive() || t.engine.options.DeduplicationWindow() <= 0 {
		return false
	}
	for _, w := range t.waiting {
		if w.acceptedAt != 0 && w.message.ID == tn.message.ID && reflect.DeepEqual(w.message.Parts, tn.message.Parts) {
			tn.foundInLog = true
			tn.follow(t.log, t.key, w.first)
			return true
		}
	}
	return false
}

// acceptAfter stores the message of tn, which has to wait, with an event that repeats the
// status of the task. The metadata of the event lists the message as accepted. If another
// replica ends the task at the same time, its append returns store.ErrConflict, because every
// append compares the number of the last event. That replica then reads the event of this
// message before it ends the task. before is the task as it was last read.
func (t *task) acceptAfter(ctx context.Context, tn *turn, before *a2a.Task) error {
	repeated := t.statusEvent(t.state(), t.last.Status.Message)
	repeated.Status.Paused = t.last.Paused
	repeated.Status.Metadata = t.unprocessed(tn)
	request := *tn.request
	request.Message = tn.message
	request.Push = nil
	events := append(t.batch[:0], repeated)
	seq, err := t.engine.coordinator.Append(ctx, t.log, store.Append{
		After: t.seq, Events: events, Hold: store.Keep,
		Waiting: &store.WaitingChange{Add: &store.WaitingMessage{Request: &request, Claim: tn.claim}, Before: t.acceptedBytes()},
		Write:   store.Write{RetryFor: t.engine.options.OutageRetryFor},
	})
	if err != nil {
		return err
	}
	t.seq = seq
	tn.acceptedAt = seq
	fold := store.Resume(before)
	t.appliedFirst(ctx, fold, events)
	t.decide(tn, &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}})
	return nil
}

// continueTask begins the turn of a message. It delivers the message to the run that waits
// for input, or starts a new run.
func (t *task) continueTask(ctx context.Context, tn *turn) error {
	wasPaused := t.last.Paused
	tn.continues = true
	if err := t.engine.reserveRun(t, tn, true); err != nil {
		return err
	}
	err := t.attachPush(ctx, tn)
	if err == nil {
		err = t.begin(ctx, tn)
	}
	if err != nil {
		t.engine.cancelReservation(t, tn)
		if errors.Is(err, errFollowed) {
			err = nil
		}
		return err
	}
	if t.run != nil {
		t.deliverInput(ctx, tn, wasPaused)
	} else {
		t.move(onBegin)
		t.startRun(ctx, tn)
	}
	return nil
}
