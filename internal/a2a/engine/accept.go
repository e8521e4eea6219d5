// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

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

// elsewhereError is the error for a message whose task another replica runs.
type elsewhereError struct{ replica store.Replica }

func (e *elsewhereError) Error() string { return "task is run by " + string(e.replica) }

// awaitsMessage reports whether the task is paused and no message waits or is being
// delivered.
func (t *task) awaitsMessage() bool {
	return t.state().Interrupted() && t.input == nil && len(t.waiting) == 0
}

// refuseEnded refuses a message to a task that has ended, unless the message repeats the last one.
func (t *task) refuseEnded(ctx context.Context, tn *turn) error {
	if followed, err := t.followRepeated(ctx, tn); followed || err != nil {
		return err
	}
	return errTerminal(tn)
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
