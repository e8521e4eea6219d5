// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Cancel implements a2a.Handler. It cancels the task and the context of its runs at once,
// and does not wait for the agent. Concurrent calls for the same task all succeed.
func (e *Engine) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	ctx = e.reading(ctx, r.Owner)
	t, err := e.acquire(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID}, false)
	if err != nil {
		return nil, err
	}
	defer e.release(t)
	wasCanceled := t.canceled.Load()
	if err := t.lockWithin(ctx); err != nil {
		return nil, err
	}
	defer t.unlock()
	var owner coordination.Owner
	if !t.working() && t.log != nil {
		if owner, err = e.coordinator.Owner(ctx, t.key); err != nil {
			return nil, storeError("read owner of task", t.key.TaskID, err)
		}
	}
	noRun := !t.working() && owner.Replica == ""
	if err := t.cancel(ctx, wasCanceled); err != nil {
		return nil, err
	}
	e.coordinator.RequestReview(ctx, owner, t.key)
	canceled, err := snapshot(ctx, t.log, r.TaskID, nil)
	if c, ok := e.options.Backend.(backend.Canceler); ok && err == nil && noRun && !wasCanceled {
		c.Canceled(ctx, canceled)
	}
	return canceled, err
}

// cancel appends the state canceled and cancels the runs. It succeeds for a task that was
// canceled while the caller waited for the lock. wasCanceled is true if the task was
// canceled before this wait.
func (t *task) cancel(ctx context.Context, wasCanceled bool) error {
	if t.log == nil {
		return a2a.TaskNotFound(t.key.TaskID)
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	switch {
	case t.canceled.Load() && !wasCanceled:
		return nil
	case t.state().Terminal():
		return errNotCancelable(t.key.TaskID)
	}
	if err := t.write(ctx, append(t.batch[:0], t.statusEvent(a2a.StateCanceled, nil)), store.AnyHolder); err != nil {
		if t.state().Terminal() {
			return errNotCancelable(t.key.TaskID)
		}
		return storeError("cancel task", t.key.TaskID, err)
	}
	t.canceled.Store(true)
	t.engine.recent.forgetTask(t.key)
	t.ended(nil, backend.ErrCanceled)
	return nil
}
