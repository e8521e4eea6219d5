// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// acquire returns the task with a key, and counts one more user of it until release.
// named is true if the task need not exist because its client chose the id (0.1).
func (e *Engine) acquire(ctx context.Context, k store.Key, named bool) (*task, error) {
	e.mu.Lock()
	if t := e.tasks[k]; t != nil {
		t.users++
		e.mu.Unlock()
		return t, nil
	}
	e.mu.Unlock()
	log, err := e.options.Store.Open(ctx, k)
	if err != nil && (!named || !errors.Is(err, store.ErrNotFound)) {
		return nil, storeError("open task", k.TaskID, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tasks[k]
	if t == nil {
		t = newTask(e, k, log)
		e.tasks[k] = t
	}
	t.users++
	return t, nil
}

// isActive reports whether a run or a request uses a task.
func (e *Engine) isActive(k store.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tasks[k] != nil
}

// activeTasks returns the tasks that a run or a request uses.
func (e *Engine) activeTasks() []*task {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.tasks))
}

func (e *Engine) release(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
}

func (e *Engine) releaseLocked(t *task) {
	t.users--
	if t.users == 0 {
		delete(e.tasks, t.key)
	}
}

// reserveRun counts a turn as running and its run as a user of the task, which makes the task
// active (Engine.tasks). It returns an error if the engine drains, if the lease may have ended,
// or if the limits of turns do not allow the run (errTurnLimit). If refusable is false, the run
// has to start and reserveRun returns nil.
func (e *Engine) reserveRun(t *task, tn *turn, refusable bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case refusable && e.draining.Load():
		return errUnavailable()
	case refusable && e.coordinator.Fenced():
		return errStoreDown()
	case tn.reserved:
		tn.reserved = false
	case !refusable:
		e.turns.start(tn.principal, tn.size)
	case !e.turns.tryStart(tn.principal, tn.size):
		return errTurnLimit
	}
	e.runs++
	t.users++
	e.tasks[t.key] = t
	return nil
}

// cancelReservation undoes reserveRun for a run that does not start.
func (e *Engine) cancelReservation(t *task, tn *turn) {
	e.turns.end(tn.principal, tn.size)
	e.runReturned(t)
}

// freeTurn counts the turn of a run as ended, once. Callers call it before the client can
// see the end of the turn, so that the client may send its next message at once. It does
// not lock Engine.mu.
func (e *Engine) freeTurn(r *run) {
	if !r.freed {
		r.freed = true
		e.turns.end(r.principal, r.turn.size)
	}
}

// runReturned counts the goroutine of a run as ended. It signals idle if the engine
// drains and no run is left.
func (e *Engine) runReturned(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
	e.runs--
	if e.runs == 0 && e.draining.Load() {
		e.signalIdle()
	}
}

// signalIdle closes idle, once. The caller holds Engine.mu.
func (e *Engine) signalIdle() {
	select {
	case <-e.idle:
	default:
		close(e.idle)
	}
}
