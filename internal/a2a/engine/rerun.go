// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// rerunDelays are the delays before the attempts of a turn after a crash of the agent's
// process, because the process takes time to restart. The first delay is before the second
// attempt, and the last delay is before each later attempt (backoff).
var rerunDelays = []time.Duration{time.Second, 5 * time.Second}

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
	tn.rerun = &rerun{descriptor: d}
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
			return nil, storeError("read task", t.key.TaskID, err)
		case len(all) == before:
			return nil, fmt.Errorf("log of task %s ends at %d, before %d: %w", t.key.TaskID, before, t.seq, errNoRerun)
		}
	}
	return all, nil
}

// retryAfterCrash prepares the next attempt of a turn if the agent's process ended during
// the turn. While the engine drains, it hands the turn over to other replicas instead. It
// returns false if the caller has to fail the turn.
func (t *task) retryAfterCrash(ctx context.Context, err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	if !ok || !failure.Interrupted || !t.engine.options.Retry() {
		return false
	}
	if t.engine.draining.Load() {
		return t.handOver(ctx)
	}
	tn, events, err := t.rebuildTurn(ctx, t.descriptor)
	if err != nil {
		return false
	}
	tn.rerun.delay = rerunDelays[min(tn.rerun.descriptor.Attempt-2, len(rerunDelays)-1)]
	if err := t.append(ctx, events); err != nil {
		return t.phase == phaseLost || t.state().Terminal()
	}
	// The stored descriptor counts this attempt, so the attempt also counts if another replica
	// makes it.
	if err := t.changeHold(ctx, store.Take, &tn.rerun.descriptor); err != nil {
		return false
	}
	t.descriptor = tn.rerun.descriptor
	t.rerun = tn
	t.engine.options.Log.InfoContext(ctx, "turn is re-run", "task", t.key.TaskID, "attempt", tn.rerun.descriptor.Attempt, "error", failure)
	return true
}

// handOver leaves the current turn to other replicas, which re-run it without counting an
// attempt. If the task waits for its client, handOver leaves its accepted messages to them.
// It returns false if other replicas cannot continue the task.
func (t *task) handOver(ctx context.Context) bool {
	switch {
	case t.engine.coordinator.Exclusive() || t.phase == phaseLost:
		return false
	case t.state().Interrupted() && t.hasAccepted():
		t.lose(errDrained)
		return true
	case !t.engine.options.Retry() || t.descriptor.Redacted:
		return false
	}
	if state := t.state(); state.Terminal() || state.Interrupted() {
		return false
	}
	d := t.descriptor
	d.Attempt--
	if t.changeHold(ctx, store.Take, &d) != nil {
		return false
	}
	t.lose(errDrained)
	return true
}

// endHold ends the hold on a task that waits for its client without a run. If the write
// fails, the replica that next takes the task over ends the hold.
func (t *task) endHold(ctx context.Context) {
	if t.phase == phaseFree {
		_ = t.changeHold(ctx, store.Release, nil)
	}
}

func (t *task) changeHold(ctx context.Context, hold store.HoldChange, d *store.TurnDescriptor) error {
	_, err := t.engine.coordinator.Append(ctx, t.log, store.Append{After: t.seq, Hold: hold, Write: store.Write{Turn: d}})
	return err
}
