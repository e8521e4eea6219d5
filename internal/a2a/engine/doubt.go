// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// make makes the log of the task, and holds it.
func (t *task) make(ctx context.Context, o store.Origin, events []a2a.Event, b *store.TurnDescriptor) (store.Log, error) {
	r := t.engine.replica
	if r == nil {
		return t.engine.options.Store.Create(ctx, t.key, o, events) //nolint:wrapcheck // its caller does
	}
	if r.fenced.Load() {
		return nil, errStoreDown()
	}
	events = slices.Clone(events) // t.batch is anybody's
	log, err := r.CreateHeld(ctx, t.key, o, events, *b)
	if doubt := err; outage(doubt) {
		err = t.holdOn(doubt, func() (err error) {
			if log, err = r.CreateHeld(ctx, t.key, o, events, *b); errors.Is(err, store.ErrExists) {
				log, err = t.made(ctx, events)
			}
			return err
		})
		if unsettled(err) {
			r.reject(t.key, doubt)
		}
	}
	if err != nil {
		return nil, err
	}
	return log, nil
}

// made returns the log of a task that was made with these events, though that
// was not answered. The id of its message is this process's own, or the
// client's whose message it is; then only who holds the task made it. One that
// ended as it began is held by nobody, and its id is never the client's.
func (t *task) made(ctx context.Context, events []a2a.Event) (store.HeldLog, error) {
	opened, err := t.engine.replica.Open(ctx, t.key)
	if err != nil {
		return nil, err //nolint:wrapcheck // its caller knows the outcomes
	}
	log := opened.(store.HeldLog) //nolint:forcetypeassert // a member opens no other
	held, err := log.Holder(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	records, err := log.Read(ctx, nil, 0)
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // as above
	case !ended(events) && held.Replica != t.engine.replica.Self(), !went(records, events):
		return nil, store.ErrExists
	}
	return log, nil
}

// hold appends the first events of a turn and takes the hold on its task, in one
// step. continues is true when the task had stopped; then the append also ends the
// deduplication of the messages that began its former turns.
//
// An append that the store does not answer is retried for holdPatience. If its
// outcome is still unknown then (an indeterminate write), hold cancels a run of this
// task that waits for its client: the log may hold a message by now that the run was
// not shown, so its end must not complete the task.
func (t *task) hold(ctx context.Context, events []a2a.Event, b *store.TurnDescriptor, continues bool) (uint64, error) {
	r := t.engine.replica
	if r == nil {
		return t.log.Append(ctx, t.seq, events)
	}
	events = slices.Clone(events) // t.batch is anybody's
	how := store.Take
	if continues {
		how = store.Continue
	}
	seq, err := t.heldLog().AppendHeld(ctx, t.seq, events, how, *b)
	doubt := err
	if !outage(doubt) {
		return seq, err
	}
	err = t.holdOn(doubt, func() (err error) {
		if seq, err = t.heldLog().AppendHeld(ctx, t.seq, events, how, *b); errors.Is(err, store.ErrConflict) {
			seq, err = t.begun(ctx, events)
		}
		return err
	})
	if unsettled(err) {
		r.reject(t.key, doubt)
		if t.working() && !t.forsaken {
			t.forsake(errStore)
		}
	}
	return seq, err
}

// unsettled reports whether the outcome of an append is still unknown after its
// last retry failed with err. ErrFull is such an error, too: a full store refuses
// the retry before it compares the log, so that the answer does not tell whether
// the first attempt was stored.
func unsettled(err error) bool { return outage(err) || errors.Is(err, store.ErrFull) }

// holdPatience bounds the retries of the append that begins a turn. The client
// waits for as long. After that the message is refused; if the store took it
// nevertheless, its task fails.
const holdPatience = 5 * time.Second

// holdOn retries the append that begins a turn, with exponential backoff from
// insistFirst to insistMost, for holdPatience. It returns the error of the last
// attempt. The task's lock is held on entry and on return, and released between
// attempts: the only run that the task can have waits for its client, and other
// appends to the task wait until t.stalled closes.
func (t *task) holdOn(err error, try func() error) error {
	stalled := make(chan struct{})
	t.batch, t.stalled = nil, stalled
	defer func() {
		t.stalled = nil
		close(stalled)
	}()
	patience := time.NewTimer(holdPatience)
	defer patience.Stop()
	for pause := insistFirst; outage(err); pause = min(2*pause, insistMost) {
		t.mu.Unlock()
		waited := t.engine.sleep(pause, patience.C, nil)
		t.mu.Lock()
		if !waited || t.forsaken || t.engine.replica.fenced.Load() {
			break
		}
		err = try()
	}
	return err
}

// begun returns the number of the last of events if the log continues with them
// although their append was not answered, and store.ErrConflict if it does not.
func (t *task) begun(ctx context.Context, events []a2a.Event) (uint64, error) {
	records, err := t.since(ctx)
	switch {
	case err != nil:
		return 0, err
	case !went(records, events):
		return 0, store.ErrConflict
	}
	return t.seq + uint64(len(events)), nil
}

// wrote reports whether the log continues with events, behind the last event that
// this task knows.
func (t *task) wrote(ctx context.Context, events []a2a.Event) (bool, error) {
	records, err := t.since(ctx)
	if err != nil {
		return false, storeError("read task", t.key.TaskID, err)
	}
	return went(records, events), nil
}

// since returns how the log went on behind the last event that is known. A store
// may remember less of it than it was asked to append, until it is asked where
// the log stands.
func (t *task) since(ctx context.Context) ([]*a2a.Record, error) {
	_, err := t.log.Snapshot(ctx)
	var records []*a2a.Record
	if err == nil {
		records, err = t.log.Read(ctx, nil, t.seq)
	}
	return records, err //nolint:wrapcheck // its callers know the outcomes
}

// went reports whether a log went on with these events, whose append was not
// answered. All of them are there or none, though not all may have been read.
func went(records []*a2a.Record, events []a2a.Event) bool {
	for i := range min(len(records), len(events)) {
		if !same(&records[i].Event, &events[i]) {
			return false
		}
	}
	return len(records) > 0
}

// same reports whether an event that was read is one that was written here. Two
// appends that are in doubt at the same place differ in more than this: one of
// them begins a turn, ends one, or is another replica's.
func same(read, written *a2a.Event) bool {
	switch {
	case written.Message != nil:
		return read.Message != nil && read.Message.ID == written.Message.ID
	case written.Status != nil:
		return read.Status != nil && read.Status.Status.State == written.Status.Status.State &&
			read.Status.Status.Time.Equal(written.Status.Status.Time)
	case written.Artifact != nil:
		return read.Artifact != nil && read.Artifact.Artifact.ID == written.Artifact.Artifact.ID &&
			read.Artifact.Append == written.Artifact.Append && read.Artifact.Artifact.Size() == written.Artifact.Artifact.Size()
	default:
		return false
	}
}
