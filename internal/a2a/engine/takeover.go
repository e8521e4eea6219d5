// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// takeOver takes over the task if it is orphaned: held by a replica that does not run it. It
// does nothing while another goroutine has the lock of the task.
func (t *task) takeOver(ctx context.Context) error {
	if !t.mutex.TryAcquire(1) {
		return nil
	}
	defer t.unlock()
	if t.log == nil || t.working() {
		return nil
	}
	owner, err := t.engine.coordinator.Owner(ctx, t.key)
	if err != nil {
		return unlessMissing(storeError("read owner of task", t.key.TaskID, err))
	}
	if owner.Replica == "" || owner.Alive {
		return nil
	}
	if err := t.failOrRerun(ctx, &owner); !errors.Is(err, errNotBegun) {
		return unlessMissing(err)
	}
	return nil // the coordinator tries again after the next renewal of the lease
}

// failOrRerun takes over an orphaned task. If the task is working, it fails the task, or re-runs
// its turn (Options.Retry). If the task waits for its client, it begins the turn of the first
// message that was accepted and still waits. If no message waits, it ends the hold, and the task
// continues to wait without a run. If several replicas do this at the same time, the first append
// wins.
func (t *task) failOrRerun(ctx context.Context, owner *coordination.Owner) error {
	t.move(onOrphan)
	defer func() {
		if t.phase == phaseOrphaned {
			t.move(onLose)
		}
	}()
	now, err := t.read(ctx)
	if err != nil {
		return err
	}
	switch {
	case t.state().Terminal():
		t.move(onEnd)
		return nil
	case t.state().Interrupted():
		return t.takeOverPaused(ctx, owner, now)
	case owner.RolledBack:
		return t.failOrphan(ctx, reasonRolledBack) // the lost events may include the end of the turn
	case owner.Refused:
		return t.failOrphan(ctx, reasonRefused)
	case !t.engine.options.Retry() && owner.Here:
		return t.failOrphan(ctx, reasonStore)
	case !t.engine.options.Retry():
		return t.failOrphan(ctx, reasonInterrupted)
	}
	err = t.rerunTurn(ctx, owner.Turn, now)
	switch {
	case errors.Is(err, errNoRerun) && owner.Turn.Attempt >= t.engine.options.MaxAttempts:
		return t.failOrphan(ctx, reasonExhausted)
	case errors.Is(err, errNoRerun):
		return t.failOrphan(ctx, reasonNoRerun)
	case errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrConflict):
		return nil
	default:
		return err
	}
}

// takeOverPaused takes over a task that waits for its client. It begins the turn of the
// first accepted message. If no message waits, it ends the hold, and the task continues
// to wait without a run. now is the current task.
func (t *task) takeOverPaused(ctx context.Context, owner *coordination.Owner, now *a2a.Record) error {
	stored, err := t.storedWaiting(ctx)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return t.appendIfUnclaimed(ctx, t.statusEvent(t.state(), t.last.Status.Message), store.Release)
	}
	if owner.RolledBack {
		return t.failOrphan(ctx, reasonRolledBack) // the lost events may include the whole turn of the message
	}
	t.restoreWaiting(stored, now)
	tn := t.nextWaiting()
	if err := t.engine.reserveRun(t, tn, true); err != nil {
		t.lose(errLost)
		return fmt.Errorf("%w: %w", errNotBegun, err)
	}
	err = t.beginAfter(ctx, tn, now.Task)
	if err == nil {
		t.move(onBegin)
		t.startRun(ctx, tn)
		return nil
	}
	t.lose(errLost)
	t.engine.cancelReservation(t, tn)
	if errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrConflict) {
		return errNotBegun // another replica was first
	}
	return storeError("append to task", t.key.TaskID, err)
}

func (t *task) failOrphan(ctx context.Context, reason string) error {
	return t.appendIfUnclaimed(ctx, t.statusEvent(a2a.StateFailed, t.agentMessage(reason)), store.Take)
}

// appendIfUnclaimed appends a status to an orphaned task. It returns nil if another
// replica was first.
func (t *task) appendIfUnclaimed(ctx context.Context, status a2a.Event, hold store.HoldChange) error {
	events := []a2a.Event{status}
	seq, err := t.engine.coordinator.Append(ctx, t.log, store.Append{After: t.seq, Events: events, Hold: hold})
	switch {
	case errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrConflict):
		return nil
	case err != nil:
		return storeError("append to task", t.key.TaskID, err)
	}
	t.seq = seq
	t.applied(ctx, events)
	if hold == store.Release {
		t.move(onRelease)
	}
	return nil
}

// rerunTurn re-runs the interrupted turn that d describes. The accepted messages of the task
// wait for the end of the turn. now is the current task.
func (t *task) rerunTurn(ctx context.Context, d store.TurnDescriptor, now *a2a.Record) error {
	tn, events, err := t.rebuildTurn(ctx, d)
	if err != nil {
		return err
	}
	stored, err := t.storedWaiting(ctx)
	if err != nil {
		return err
	}
	if err := t.engine.reserveRun(t, tn, true); err != nil {
		return nil //nolint:nilerr // the limit of turns is reached; the next attempt to take over follows
	}
	seq, err := t.engine.coordinator.Append(ctx, t.log, store.Append{
		After: t.seq, Events: events, Hold: store.Take, Write: store.Write{Turn: &tn.rerun.descriptor},
	})
	if err != nil {
		t.engine.cancelReservation(t, tn)
		return err
	}
	t.seq = seq
	t.descriptor = tn.rerun.descriptor
	t.restoreWaiting(stored, now)
	t.applied(ctx, events)
	t.move(onRerun)
	t.startRun(ctx, tn)
	return nil
}
