// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Cancel implements a2a.Handler. The task is canceled at once, whatever its
// agent makes of it; a run is told by the end of its context. A call that
// meets another one still under way shares its success.
func (e *Engine) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	t, err := e.acquire(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID}, false)
	if err != nil {
		return nil, err
	}
	defer e.release(t)
	late := t.canceled.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	held, err := t.heldBy(ctx)
	if err != nil {
		return nil, err
	}
	atRest := !t.working() && held.Replica == ""
	if err := t.cancel(ctx, late); err != nil {
		return nil, err
	}
	if e.replica != nil {
		e.replica.tell(ctx, held, t.key)
	}
	canceled, err := snapshot(ctx, t.log, r.TaskID, nil)
	if c, ok := e.options.Backend.(backend.Canceler); ok && err == nil && atRest && !late {
		c.Canceled(ctx, canceled)
	}
	return canceled, err
}

// heldBy returns who runs the task elsewhere.
func (t *task) heldBy(ctx context.Context) (store.Hold, error) {
	if t.working() || t.engine.replica == nil || t.log == nil {
		return store.Hold{}, nil
	}
	held, err := t.engine.replica.Holder(ctx, t.key)
	return held, storeErrorOrNil("read holder of task", t.key.TaskID, err)
}

func (t *task) cancel(ctx context.Context, late bool) error {
	if t.log == nil {
		return a2a.TaskNotFound(t.key.TaskID)
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	switch {
	case t.stalled != nil:
		return errStoreDown()
	case t.canceled.Load() && !late:
		return nil
	case t.state().Terminal():
		return errNotCancelable(t.key.TaskID)
	}
	if err := t.commit(ctx, append(t.batch[:0], t.says(a2a.StateCanceled, nil)), true); err != nil {
		if t.state().Terminal() {
			return errNotCancelable(t.key.TaskID)
		}
		return storeError("cancel task", t.key.TaskID, err)
	}
	t.canceled.Store(true)
	t.engine.recent.forgetTask(t.key)
	t.over(nil, backend.ErrCanceled)
	return nil
}
