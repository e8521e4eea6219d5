// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Drain ends the engine (graceful shutdown): it refuses new messages, and waits for the
// running turns and for the turns of accepted messages. Then it ends the streams with
// a2a.ErrDraining, so that clients resume them at another replica or after a restart. If ctx
// ends before the turns, Drain fails the tasks that still run, or hands their turns over to
// other replicas, and returns the cause of ctx. Tasks can be read afterwards. Drain may be
// called more than once.
func (e *Engine) Drain(ctx context.Context) error {
	var stopping sync.WaitGroup
	for _, t := range e.stopAccepting() {
		stopping.Go(func() { t.stopWaiting(ctx) })
	}
	var cause error
	select {
	case <-e.idle:
	case <-ctx.Done():
		cause = context.Cause(ctx)
		e.stopRetries()
		e.coordinator.Interrupt()
		for _, t := range e.activeTasks() {
			t.shutDown(context.WithoutCancel(ctx)) // ctx has ended, but the log must get the reason
		}
		<-e.idle
	}
	stopping.Wait()
	e.coordinator.Stop(context.WithoutCancel(ctx))
	e.subscribers.close()
	return cause
}

func (e *Engine) stopAccepting() []*task {
	e.mu.Lock()
	e.draining.Store(true)
	if e.runs == 0 {
		e.signalIdle()
	}
	e.mu.Unlock()
	e.turns.close()
	return e.activeTasks()
}

// stopWaiting refuses the waiting messages whose clients have no answer, and cancels a run
// that waits for its client. The task keeps its state.
func (t *task) stopWaiting(ctx context.Context) {
	if t.mutex.Acquire(ctx, 1) != nil {
		return // ctx has ended, so Drain calls shutDown
	}
	defer t.unlock()
	t.refuseUndecided()
	if t.run != nil && t.state().Interrupted() {
		t.run.cancel(errDrained)
	}
}

// shutDown fails a task that has a run, or hands its turn over to other replicas, and
// cancels the runs.
func (t *task) shutDown(ctx context.Context) {
	t.lock(ctx)
	defer t.unlock()
	r := t.run
	if r == nil {
		r = t.input
	}
	if r == nil {
		return
	}
	// r.ignored is not checked here: during a drain, emit sets it for a run that pauses the task.
	if t.state().Interrupted() && t.handOver(ctx) {
		return
	}
	if !r.ignored {
		if err := t.ensureCreated(ctx, r); err != nil {
			r.turn.refuse(err)
		} else if t.handOver(ctx) {
			return
		} else if state := t.state(); !state.Terminal() && !state.Interrupted() {
			t.finish(ctx, a2a.StateFailed, t.failureMessage(ctx, reasonShutdown))
		}
	}
	t.ended(nil, errDrained)
}
