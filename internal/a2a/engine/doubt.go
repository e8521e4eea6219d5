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

// make creates the log of the task, and holds the task. If the store does not answer,
// make repeats the creation for beginRetryFor, without the lock of the task.
func (t *task) make(ctx context.Context, o store.Origin, events []a2a.Event, d *store.TurnDescriptor) (log store.Log, err error) {
	n := store.NewTask{Key: t.key, Origin: o, Events: events}
	r := t.engine.replica
	if r == nil {
		return t.engine.options.Store.Create(ctx, n) //nolint:wrapcheck // its caller does
	}
	if r.fenced.Load() {
		return nil, errStoreDown()
	}
	n.Events, n.Write = slices.Clone(events), r.newWrite(d) // t.batch is anybody's
	if log, err = r.Create(ctx, n); !outage(err) {
		return log, err //nolint:wrapcheck // its caller knows the outcomes
	}
	err = t.repeatWrite(ctx, &n.Write, beginRetryFor, err, func(ctx context.Context) (err error) {
		log, err = r.Create(ctx, n)
		return err
	})
	if outage(err) {
		r.reject(t.key)
	}
	return log, err
}

// hold appends the first events of a turn and takes the hold on its task, in one
// step. continues is true when the task had stopped; then the append also ends the
// deduplication of the messages that began its former turns.
//
// If the store does not answer, hold repeats the append for beginRetryFor, without the
// lock of the task. If its outcome is still unknown then (an indeterminate write), hold
// cancels a run of this task that waits for its client: the log may hold a message by
// now that the run was not shown, so its end must not complete the task.
func (t *task) hold(ctx context.Context, events []a2a.Event, d *store.TurnDescriptor, continues bool) (seq uint64, err error) {
	a := store.Append{After: t.seq, Events: events}
	r := t.engine.replica
	if r == nil {
		return t.log.Append(ctx, a)
	}
	a.Events, a.Hold, a.Write = slices.Clone(events), store.Take, r.newWrite(d) // t.batch is anybody's
	if continues {
		a.Hold = store.Continue
	}
	if seq, err = t.log.Append(ctx, a); !outage(err) {
		return seq, err
	}
	err = t.repeatWrite(ctx, &a.Write, beginRetryFor, err, func(ctx context.Context) (err error) {
		seq, err = t.log.Append(ctx, a)
		return err
	})
	if outage(err) {
		r.reject(t.key)
		if t.working() && !t.forsaken {
			t.forsake(errStore)
		}
	}
	return seq, err
}

// newWrite returns a write of this replica with a token of its own.
func (r *replica) newWrite(d *store.TurnDescriptor) store.Write {
	return store.Write{Token: store.NewToken(), Replica: r.Self(), Turn: d}
}

// beginRetryFor is how long the store retries the write that begins a turn. The client
// waits for as long. After that the message is refused; if the store took it
// nevertheless, its task fails.
const beginRetryFor = 5 * time.Second

// repeatWrite calls write again after it failed with err, an outage. The store retries
// it for retryFor, until the task is forsaken, or the replica is fenced. The task's
// lock is held on entry and on return, and released in between: other appends to the
// task wait until t.stalled closes.
func (t *task) repeatWrite(ctx context.Context, w *store.Write, retryFor time.Duration, err error, write func(context.Context) error) error {
	w.RetryFor, w.Repeat = retryFor, errors.Is(err, store.ErrIndeterminate)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stalled := make(chan struct{})
	t.batch, t.stalled, t.cancelWrite = nil, stalled, cancel
	go func() {
		select {
		case <-t.engine.cutOff:
			cancel()
		case <-stalled:
		}
	}()
	t.mu.Unlock()
	err = write(ctx)
	t.mu.Lock()
	t.stalled, t.cancelWrite = nil, nil
	close(stalled)
	if err == nil && (t.forsaken || t.engine.replica.fenced.Load()) {
		return store.ErrIndeterminate // others may have the task by now
	}
	return err
}
