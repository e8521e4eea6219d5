// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// journal is the journal of a task for one run.
type journal struct {
	task *task
	run  *run
	// count is the number of entries.
	count int
}

var _ backend.Journal = (*journal)(nil)

// Entries implements backend.Journal. A task that the store does not have yet has no entry.
func (j *journal) Entries(ctx context.Context, reserve func(bytes int64) error) (entries [][]byte, err error) {
	t := j.task
	t.lock(ctx)
	log := t.log
	t.unlock()
	if log == nil {
		return nil, nil
	}
	entries, err = t.engine.readJournal(ctx, log, reserve)
	j.count = len(entries)
	return entries, err
}

// readJournal reads the journal of a task. The error of reserve is not wrapped.
func (e *Engine) readJournal(ctx context.Context, log store.Log, reserve func(bytes int64) error) (entries [][]byte, err error) {
	var refused error
	err = e.retryOutage(ctx, func() error {
		entries, err = log.Journal(ctx, func(bytes int64) error {
			refused = reserve(bytes)
			return refused
		})
		return err
	})
	if refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w: %w", errStore, err)
	}
	return entries, nil
}

// failureMessage returns the message of a task that fails: the reason, and which steps of the task have no known outcome. The caller holds
// the lock of the task.
func (t *task) failureMessage(ctx context.Context, reason string) *a2a.Message {
	if u, ok := t.engine.options.Backend.(backend.Unfinisher); ok && t.log != nil {
		reader := t.engine.options.Loads.Reader(t.key.Owner)
		defer reader.Release()
		reserve := func(bytes int64) error { return store.ReserveLoad(reader.In(ctx), bytes) }
		text := u.Unfinished(ctx, t.key.TaskID, func() ([][]byte, error) { return t.engine.readJournal(ctx, t.log, reserve) })
		if text != "" {
			reason += ". " + text
		}
	}
	return t.agentMessage(reason)
}

// Append implements backend.Journal. It creates the task of a new turn, and moves it to working, because a task without a log has no
// journal.
func (j *journal) Append(ctx context.Context, entry []byte) error {
	ctx = context.WithoutCancel(ctx) // a step that has happened is recorded even if the run ends meanwhile
	t := j.task
	t.lock(ctx)
	defer t.unlock()
	if j.run.ignored {
		return backend.ErrTurnEnded
	}
	if t.log == nil {
		if err := t.appendEmitted(ctx, j.run, []a2a.Event{t.statusEvent(a2a.StateWorking, nil)}); err != nil {
			return err
		}
	}
	err := t.engine.coordinator.AppendJournal(ctx, t.log, store.JournalAppend{After: j.count, Entry: entry, RetryFor: t.engine.options.OutageRetryFor})
	switch {
	case err == nil:
		j.count++
		return nil
	case errors.Is(err, store.ErrFull):
		return backend.Failed("The steps of this task have no room in the task store", nil)
	case errors.Is(err, store.ErrHeld):
		t.lose(errLost)
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return backend.ErrTurnEnded // the task has ended, by a cancellation at another replica or by an eviction
	default:
		t.engine.options.Log.ErrorContext(ctx, "step of a task not stored", "task", t.key.TaskID, "error", err)
		t.lose(errStore)
	}
	return backend.ErrTurnEnded
}
