// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Drain ends the engine: it takes no more messages, waits for the running
// turns, and then ends the streams in a way that can be resumed. When ctx ends
// first, what still runs is failed with a reason; Drain then returns ctx's
// cause. Reading tasks goes on. It may be called more than once.
func (e *Engine) Drain(ctx context.Context) error {
	for _, t := range e.stopAccepting() {
		t.letGo()
	}
	var cause error
	select {
	case <-e.idle:
	case <-ctx.Done():
		cause = context.Cause(ctx)
		e.cutOffOnce.Do(func() { close(e.cutOff) })
		for _, t := range e.busy() {
			t.shutDown(context.WithoutCancel(ctx)) // the log must say it, though the time is up
		}
		<-e.idle
	}
	if e.replica != nil {
		e.replica.leave(context.WithoutCancel(ctx))
	}
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
	return e.busy()
}

func (e *Engine) busy() []*task {
	e.mu.Lock()
	defer e.mu.Unlock()
	tasks := make([]*task, 0, len(e.tasks))
	for _, t := range e.tasks {
		tasks = append(tasks, t)
	}
	return tasks
}

// letGo ends what only waits: messages for a later turn, and a run that waits
// for its client. The task stays as it is.
func (t *task) letGo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refuseWaiting(func(*turn) error { return errUnavailable() })
	if t.run != nil && t.state().Interrupted() {
		t.run.quit(errDrained)
	}
}

// shutDown fails a task that is worked on, and ends its runs.
func (t *task) shutDown(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calm()
	r := t.run
	if r == nil {
		r = t.input
	}
	if r == nil {
		return
	}
	if !r.gone {
		if err := t.ensure(ctx, r); err != nil {
			r.turn.refuse(err)
		} else if t.handOver(ctx) {
			return
		} else if state := t.state(); !state.Terminal() && !state.Interrupted() {
			t.finish(ctx, a2a.StateFailed, t.word(reasonShutdown))
		}
	}
	t.over(nil, errDrained)
}
