// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// reserveRun counts a turn as running and its run as a user of the task, which makes the task
// active (Engine.tasks). It returns an error if the engine drains, if the lease may have ended,
// or if the limits of turns do not allow the run (errTurnLimit). If refusable is false, the run
// has to start and reserveRun returns nil.
func (e *Engine) reserveRun(t *task, tn *turn, refusable bool) error {
	if !tn.reserved {
		tn.taskBytes = t.bytes
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case refusable && e.draining.Load():
		return errShuttingDown()
	case refusable && e.coordinator.Fenced():
		return errStoreDown()
	case tn.reserved:
		tn.reserved = false
	case !refusable:
		e.turns.start(tn.principal, tn.queued())
	case !e.turns.tryStart(tn.principal, tn.queued()):
		return errTurnLimit
	}
	e.runs++
	t.users++
	e.tasks[t.key] = t
	return nil
}

// cancelReservation undoes reserveRun for a run that does not start.
func (e *Engine) cancelReservation(t *task, tn *turn) {
	e.turns.end(tn.principal, tn.queued())
	e.runReturned(t)
}

// endReservation gives back what the turn queue reserved for a turn that does not start now.
func (e *Engine) endReservation(tn *turn) {
	if tn.reserved {
		tn.reserved = false
		e.turns.end(tn.principal, tn.queued())
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

// freeTurn counts the turn of a run as ended, once. Callers call it before the client can
// see the end of the turn, so that the client may send its next message at once. It does
// not lock Engine.mu.
func (e *Engine) freeTurn(r *run) {
	if !r.freed {
		r.freed = true
		e.turns.end(r.principal, r.turn.queued())
	}
}

// queue waits in the turn queue. It returns nil once the turn counts as running.
func (e *Engine) queue(ctx context.Context, tn *turn) error {
	if !e.reserveWaitingBytes(tn) {
		return errQueueBytes
	}
	defer e.releaseWaitingBytes(tn)
	callCounted(tn.counted)
	tn.counted = nil
	return e.turns.wait(ctx, tn.principal, tn.queued())
}
