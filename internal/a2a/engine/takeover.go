// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

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
	if t.state().Terminal() {
		t.move(onEnd)
		return nil
	}
	if !t.state().Interrupted() {
		return t.takeOverWorking(ctx, owner, now)
	}
	return t.takeOverPaused(ctx, owner, now)
}

// takeOverWorking fails a task whose turn was interrupted, or re-runs the turn. now is the current
// task.
func (t *task) takeOverWorking(ctx context.Context, owner *coordination.Owner, now *a2a.Record) error {
	switch {
	case owner.RolledBack:
		return t.failOrphan(ctx, reasonRolledBack) // the lost events may include the end of the turn
	case owner.Refused:
		return t.failOrphan(ctx, reasonRefused)
	case !t.engine.options.Retry() && owner.Here:
		return t.failOrphan(ctx, reasonStore)
	case !t.engine.options.Retry():
		return t.failOrphan(ctx, reasonInterrupted)
	}
	err := t.rerunTurn(ctx, owner.Turn, now)
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

func (t *task) failOrphan(ctx context.Context, reason string) error {
	return t.appendIfUnclaimed(ctx, t.statusEvent(a2a.StateFailed, t.failureMessage(ctx, reason)), store.Take)
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
	stored, err := t.storedWaiting(ctx, now)
	if err != nil {
		return err
	}
	if err := t.engine.reserveRun(t, tn, true); err != nil {
		t.engine.releaseStored(stored)
		return nil //nolint:nilerr // the limit of turns is reached; the next attempt to take over follows
	}
	seq, err := t.engine.coordinator.Append(ctx, t.log, store.Append{
		After: t.seq, Events: events, Hold: store.Take, Write: store.Write{Turn: &tn.rerun.descriptor},
	})
	if err != nil {
		t.engine.cancelReservation(t, tn)
		t.engine.releaseStored(stored)
		return err
	}
	t.seq = seq
	t.descriptor = tn.rerun.descriptor
	t.waiting = append(t.waiting, stored...)
	t.applied(ctx, events)
	t.move(onRerun)
	t.startRun(ctx, tn)
	return nil
}

// maxRestored bounds the bytes of an artifact that a re-run restores. A turn that wrote to a
// larger artifact of an earlier turn is not re-run.
const maxRestored = 2560 << 10

// rebuildTurn returns the next attempt of an interrupted turn, with the input of the first
// attempt, and the events that restore the task. It returns errNoRerun after MaxAttempts
// attempts, if the log has no message at the number d.Begin, if this message is redacted, if
// the log was trimmed, or if an artifact to restore exceeds maxRestored.
func (t *task) rebuildTurn(ctx context.Context, d store.TurnDescriptor) (*turn, []a2a.Event, error) {
	if d.Begin == 0 || d.Redacted || d.Attempt >= t.engine.options.MaxAttempts {
		return nil, nil, errNoRerun
	}
	ctx, release := t.engine.options.Loads.Briefly(ctx, t.key.Owner)
	defer release()
	record, err := t.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	records, err := t.readLog(ctx)
	if err != nil {
		return nil, nil, err
	}
	if uint64(len(records)) < d.Begin || records[d.Begin-1].Message == nil {
		return nil, nil, errNoRerun
	}
	m := records[d.Begin-1].Message
	d.Attempt++
	tn := newTurn(&a2a.SendRequest{
		Owner: t.key.Owner, AccountingPrincipal: d.AccountingPrincipal, Message: m, Dialect: record.Task.Dialect,
		AcceptedOutputModes: d.AcceptedOutputModes, Metadata: d.Metadata, Extensions: d.Extensions,
		Tenant: t.key.Owner.Tenant(), Trace: d.Trace,
	})
	tn.message = m
	tn.logged = m
	tn.taskID = t.key.TaskID
	tn.number = t.turns
	tn.rerun = &rerun{descriptor: d, interrupted: record.Task.Status.Time}
	if d.Begin > 1 {
		fold := store.NewFold(t.key.TaskID, store.Origin{ContextID: t.contextID, Dialect: record.Task.Dialect})
		for _, r := range records[:d.Begin-1] {
			fold.Replay(&r.Event)
		}
		tn.taskBefore = fold.Task()
	}
	working := t.statusEvent(a2a.StateWorking, nil)
	working.Status.Metadata = a2a.Object(`{"a2a.attempt":` + strconv.Itoa(d.Attempt) + `}`)
	restored, err := t.restoreArtifacts(tn, records[d.Begin:])
	return tn, append([]a2a.Event{working}, restored...), err
}

// readLog returns the whole log, or errNoRerun if its beginning was trimmed.
func (t *task) readLog(ctx context.Context) ([]*a2a.Record, error) {
	var all []*a2a.Record
	for after := uint64(0); after < t.seq; after = uint64(len(all)) {
		var err error
		before := len(all)
		all, err = t.log.Read(ctx, all, after)
		switch {
		case errors.Is(err, store.ErrTrimmed):
			return nil, errNoRerun
		case err != nil:
			return nil, storeError("read task", t.key.TaskID, unavailableWithoutMemory(err))
		case len(all) == before:
			return nil, fmt.Errorf("log of task %s ends at %d, before %d: %w", t.key.TaskID, before, t.seq, errNoRerun)
		}
	}
	return all, nil
}

// restoreArtifacts returns events that restore the artifacts of earlier turns to which
// the interrupted attempt wrote. Artifacts that the attempt created become stale: they
// stay until the next attempt writes to them.
func (t *task) restoreArtifacts(tn *turn, records []*a2a.Record) ([]a2a.Event, error) {
	var events []a2a.Event
	seen := map[string]bool{}
	for _, r := range records {
		if r.Artifact == nil || seen[r.Artifact.Artifact.ID] {
			continue
		}
		id := r.Artifact.Artifact.ID
		seen[id] = true
		before := artifactOf(tn.taskBefore, id)
		switch {
		case before == nil && tn.rerun.stale == nil:
			tn.rerun.stale = map[string]bool{id: true}
		case before == nil:
			tn.rerun.stale[id] = true
		case before.Size() > maxRestored:
			return nil, errNoRerun
		default:
			events = append(events, a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: t.key.TaskID, ContextID: t.contextID, Artifact: *before, LastChunk: true,
			}})
		}
	}
	return events, nil
}

func artifactOf(t *a2a.Task, id string) *a2a.Artifact {
	if t == nil {
		return nil
	}
	for i := range t.Artifacts {
		if t.Artifacts[i].ID == id {
			return &t.Artifacts[i]
		}
	}
	return nil
}

// storedWaiting returns the turns of the accepted messages of a task that this replica may take over, and reserves their memory. Without
// memory for them, it returns errNotBegun: they stay in the store. now is the current task.
func (t *task) storedWaiting(ctx context.Context, now *a2a.Record) ([]*turn, error) {
	ctx, release := t.engine.options.Loads.Briefly(ctx, t.key.Owner)
	defer release()
	stored, err := t.engine.coordinator.Waiting(ctx, t.key)
	if err != nil {
		return nil, storeError("read waiting messages of task", t.key.TaskID, err)
	}
	var turns []*turn
	for i := range stored {
		tn := newTurn(stored[i].Request)
		tn.setMessage()
		tn.taskID = t.key.TaskID
		tn.claim = stored[i].Claim
		tn.acceptedAt = stored[i].Seq
		tn.decideWithTask(t.log, now)
		turns = append(turns, tn)
	}
	if !t.engine.reserveStored(turns) {
		return nil, errNotBegun
	}
	return turns, nil
}

// takeOverPaused takes over a task that waits for its client. It begins the turn of the
// first accepted message. If no message waits, it ends the hold, and the task continues
// to wait without a run. now is the current task.
func (t *task) takeOverPaused(ctx context.Context, owner *coordination.Owner, now *a2a.Record) error {
	stored, err := t.storedWaiting(ctx, now)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return t.appendIfUnclaimed(ctx, t.statusEvent(t.state(), t.last.Status.Message), store.Release)
	}
	if owner.RolledBack {
		t.engine.releaseStored(stored)
		return t.failOrphan(ctx, reasonRolledBack) // the lost events may include the whole turn of the message
	}
	t.waiting = append(t.waiting, stored...)
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
