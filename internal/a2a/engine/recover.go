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

// What a client reads of a turn that was interrupted.
const (
	reasonInterrupted = "The replica that ran the agent is gone"
	reasonExhausted   = "The agent was interrupted too often"
	reasonUnrepeated  = "The agent was interrupted, and the turn could not be run again"
	reasonRefused     = "The message was refused"
)

// maxRestored bounds an artifact that is put back to what it was.
const maxRestored = 2560 << 10

// errOnce says that a turn cannot be run again.
var errOnce = errors.New("turn cannot be run again")

// recover takes over an orphaned task: one that no replica with a lease runs.
func (r *replica) recover(k store.Key) {
	t, err := r.engine.acquire(r.ctx, k, false)
	if err == nil {
		defer r.engine.release(t)
		err = t.recover(r.ctx)
	}
	if err != nil && r.ctx.Err() == nil {
		r.engine.options.Log.ErrorContext(r.ctx, "take over task", "task", k.TaskID, "error", err)
	}
}

func (t *task) recover(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil || t.stalled != nil || t.working() {
		return nil
	}
	held, err := t.engine.replica.Holder(ctx, t.key)
	if err != nil {
		return unlessMissing(storeError("read holder of task", t.key.TaskID, err))
	}
	if held.Replica == "" || held.Replica != t.engine.replica.Self() && held.Alive {
		return nil
	}
	return unlessMissing(t.revive(ctx, held))
}

// revive ends a task whose run is gone, or runs its turn again (Retry). A task that
// waits for its client continues to wait, without a run. If several replicas do
// this at the same time, the first append wins. The task's lock is held.
func (t *task) revive(ctx context.Context, held store.Hold) error {
	if err := t.reload(ctx); err != nil {
		return err
	}
	switch {
	case t.state().Terminal():
		return nil
	case t.state().Interrupted():
		return t.reclaim(ctx, []a2a.Event{t.says(t.state(), t.status.Message)}, store.Release)
	case t.engine.replica.rejected(t.key):
		err := t.giveUpOn(ctx, reasonRefused)
		if outage(err) {
			t.engine.replica.reject(t.key) // it is not run at the next look either
		}
		return err
	case !t.engine.options.Retry() && held.Replica == t.engine.replica.Self():
		return t.giveUpOn(ctx, reasonStore)
	case !t.engine.options.Retry():
		return t.giveUpOn(ctx, reasonInterrupted)
	}
	err := t.restart(ctx, held.Turn)
	switch {
	case errors.Is(err, errOnce):
		return t.giveUpOn(ctx, whyOnce(t.engine, held.Turn))
	case errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrConflict):
		return nil
	default:
		return err
	}
}

func whyOnce(e *Engine, b store.TurnDescriptor) string {
	if b.Attempt >= e.options.MaxAttempts {
		return reasonExhausted
	}
	return reasonUnrepeated
}

func (t *task) giveUpOn(ctx context.Context, reason string) error {
	return t.reclaim(ctx, []a2a.Event{t.says(a2a.StateFailed, t.word(reason))}, store.Take)
}

// reclaim appends to an orphaned task. It returns nil without an effect if another
// replica was first.
func (t *task) reclaim(ctx context.Context, events []a2a.Event, c store.HoldChange) error {
	seq, err := t.changeHold(ctx, events, c, nil)
	switch {
	case errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrConflict):
		return nil
	case err != nil:
		return storeError("append to task", t.key.TaskID, err)
	}
	t.seq = seq
	t.logged(ctx, events)
	return nil
}

// restart runs again the turn of a replica that is gone, from its turn descriptor.
func (t *task) restart(ctx context.Context, b store.TurnDescriptor) error {
	tn, events, err := t.replay(ctx, b)
	if err != nil {
		return err
	}
	if err := t.engine.hire(t, tn, true); err != nil {
		return nil //nolint:nilerr // there is no place now; another replica, or a later look, has one
	}
	seq, err := t.changeHold(ctx, events, store.Take, &tn.again.brief)
	if err != nil {
		t.engine.unhire(t, tn)
		return err //nolint:wrapcheck // its caller knows the outcomes
	}
	t.seq, t.brief = seq, tn.again.brief
	t.logged(ctx, events)
	t.launch(ctx, tn)
	return nil
}

// replay returns a turn that was interrupted, as it was when it began, and what
// brings the task back there. It returns errOnce when there is no way back: too
// many attempts, or a log that no longer holds what is needed.
func (t *task) replay(ctx context.Context, b store.TurnDescriptor) (*turn, []a2a.Event, error) {
	if b.Begin == 0 || b.Redacted || b.Attempt >= t.engine.options.MaxAttempts {
		return nil, nil, errOnce
	}
	record, err := t.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	records, err := t.readAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	if uint64(len(records)) < b.Begin || records[b.Begin-1].Message == nil {
		return nil, nil, errOnce
	}
	fold := store.NewFold(t.key.TaskID, store.Origin{ContextID: t.contextID, Dialect: record.Task.Dialect})
	for _, r := range records[:b.Begin-1] {
		fold.Replay(&r.Event)
	}
	m := records[b.Begin-1].Message
	b.Attempt++
	tn := newTurn(&a2a.SendRequest{
		Owner: t.key.Owner, AccountingPrincipal: b.Payer, Message: m, Dialect: record.Task.Dialect,
		AcceptedOutputModes: b.AcceptedOutputModes, Metadata: b.Metadata, Extensions: b.Extensions,
		Tenant: t.key.Owner.Tenant(), TraceParent: b.TraceParent,
	})
	tn.message, tn.kept, tn.taskID, tn.number, tn.again = m, m, t.key.TaskID, t.turns, &again{brief: b}
	if b.Begin > 1 {
		tn.before = fold.Task()
	}
	working := t.says(a2a.StateWorking, nil)
	working.Status.Metadata = a2a.Object(`{"a2a.attempt":` + strconv.Itoa(b.Attempt) + `}`)
	restored, err := tn.restore(t, records[b.Begin:])
	return tn, append([]a2a.Event{working}, restored...), err
}

// restore returns what puts the artifacts back that existed before the turn.
// What the interrupted attempt made anew stays until the next one writes to it.
func (tn *turn) restore(t *task, records []*a2a.Record) ([]a2a.Event, error) {
	var events []a2a.Event
	for _, r := range records {
		if r.Artifact == nil || tn.again.stale[r.Artifact.Artifact.ID] {
			continue
		}
		id := r.Artifact.Artifact.ID
		if tn.again.stale == nil {
			tn.again.stale = map[string]bool{}
		}
		tn.again.stale[id] = true
		before := artifactOf(tn.before, id)
		if before == nil {
			continue
		}
		if before.Size() > maxRestored {
			return nil, errOnce
		}
		events = append(events, a2a.Event{Artifact: &a2a.ArtifactUpdate{
			TaskID: t.key.TaskID, ContextID: t.contextID, Artifact: *before, LastChunk: true,
		}})
	}
	for i := range events {
		delete(tn.again.stale, events[i].Artifact.Artifact.ID)
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

// readAll returns the whole log, or errOnce when its beginning is gone.
func (t *task) readAll(ctx context.Context) ([]*a2a.Record, error) {
	var all []*a2a.Record
	for after := uint64(0); after < t.seq; after = uint64(len(all)) {
		var err error
		before := len(all)
		all, err = t.log.Read(ctx, all, after)
		switch {
		case errors.Is(err, store.ErrTrimmed):
			return nil, errOnce
		case err != nil:
			return nil, storeError("read task", t.key.TaskID, err)
		case len(all) == before:
			return nil, fmt.Errorf("log of task %s ends at %d, before %d: %w", t.key.TaskID, before, t.seq, errOnce)
		}
	}
	return all, nil
}

// pauses come before the second and the third attempt of a turn whose agent
// broke off. An agent that crashed takes a moment to be back.
var pauses = []time.Duration{time.Second, 5 * time.Second}

// repeat is what becomes of a turn whose agent broke off: it is run again, here
// or by another replica, and repeat reports whether that is so.
func (t *task) repeat(ctx context.Context, err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	if !ok || !failure.Interrupted || !t.engine.options.Retry() {
		return false
	}
	if t.engine.draining.Load() {
		return t.handOver(ctx)
	}
	tn, events, replayErr := t.replay(ctx, t.brief)
	if replayErr != nil {
		return false
	}
	tn.again.pause = pauses[min(tn.again.brief.Attempt-2, len(pauses)-1)]
	if err := t.append(ctx, events); err != nil {
		return t.forsaken || t.state().Terminal()
	}
	if t.engine.replica != nil {
		// The next attempt counts, whoever makes it.
		if _, err := t.changeHold(ctx, nil, store.Take, &tn.again.brief); err != nil {
			return false
		}
	}
	t.brief, t.repeated = tn.again.brief, tn
	t.engine.options.Log.InfoContext(ctx, "turn is run again", "task", t.key.TaskID, "attempt", tn.again.brief.Attempt, "error", failure)
	return true
}

// handOver leaves a turn to the other replicas, who run it again, and reports
// whether they can. It is no attempt that failed.
func (t *task) handOver(ctx context.Context) bool {
	if t.engine.replica == nil || !t.engine.options.Retry() || t.brief.Redacted || t.forsaken || t.stalled != nil {
		return false
	}
	if state := t.state(); state.Terminal() || state.Interrupted() {
		return false
	}
	b := t.brief
	b.Attempt--
	if _, err := t.changeHold(ctx, nil, store.Take, &b); err != nil {
		return false
	}
	t.forsake(errDrained)
	return true
}
