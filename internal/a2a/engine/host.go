// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// host adapts the engine to coordination.Host, the interface through which the
// coordinator calls it.
type host struct{ *Engine }

var _ coordination.Host = host{}

// Active implements coordination.Host.
func (h host) Active() []store.Key {
	tasks := h.activeTasks()
	keys := make([]store.Key, len(tasks))
	for i, t := range tasks {
		keys[i] = t.key
	}
	return keys
}

// Draining implements coordination.Host.
func (h host) Draining() bool { return h.draining.Load() }

// TakeOver implements coordination.Host.
func (h host) TakeOver(ctx context.Context, k store.Key) error {
	t, err := h.acquire(ctx, k, false)
	if err != nil {
		return err
	}
	defer h.release(t)
	return t.takeOver(ctx)
}

// Review implements coordination.Host.
func (h host) Review(ctx context.Context, k store.Key) {
	h.mu.Lock()
	t := h.tasks[k]
	h.mu.Unlock()
	if t == nil || t.mutex.Acquire(ctx, 1) != nil {
		return
	}
	defer t.unlock()
	if t.log == nil || !t.working() || t.phase == phaseLost {
		return
	}
	if t.catchUp(ctx, store.Keep) != nil {
		return
	}
	if owner, err := h.coordinator.Owner(ctx, k); err != nil || owner.Here {
		return
	}
	// The cause may be the end of the task at another replica. When a store opens a log, it reads the
	// events of other replicas. It returns another log than t.log if t.log has left its cache.
	if log, err := h.openBriefly(ctx, k); err == nil {
		t.log = log
		if t.catchUp(ctx, store.Keep) != nil {
			return
		}
	}
	t.lose(errLost)
}

// StoreRolledBack implements coordination.Host. It forgets all recent messages. The function that it
// returns reviews all active tasks. If a client repeats a message that the store has lost, the engine
// must not answer with the turn in its memory. If the store still has the message, the engine
// finds it by its claim or in the log.
func (h host) StoreRolledBack() (review func(context.Context)) {
	h.recent.forgetAll()
	return func(ctx context.Context) {
		var group sync.WaitGroup
		for _, k := range h.Active() {
			group.Go(func() { h.Review(ctx, k) })
		}
		group.Wait()
	}
}

// StopRuns implements coordination.Host. It stops the runs in parallel, because an
// attempt to call the store may hold the lock of a task until the attempt times out.
func (h host) StopRuns(ctx context.Context) {
	var group sync.WaitGroup
	for _, t := range h.activeTasks() {
		group.Go(func() {
			t.lock(ctx)
			defer t.unlock()
			if t.log != nil && t.working() && !t.state().Terminal() {
				t.lose(errLost)
			}
		})
	}
	group.Wait()
}

// Accept implements coordination.Host. It does not forward the message to a further
// replica.
func (h host) Accept(ctx context.Context, f coordination.Forwarded) coordination.Accepted {
	tn, joined := h.recent.findOrAdd(f.Request, h.options.Now())
	if joined && f.NewTask == "" && !tn.handle(handledHere) {
		// This replica has forwarded its own copy of the message, and that copy waits for the
		// other replica. f gets a turn of its own, so that the replicas do not wait for each
		// other.
		tn = newTurn(f.Request)
		joined = false
	}
	a := accepted{turn: tn, engine: h.Engine, sent: f.Request}
	if joined {
		return a
	}
	if former := tn.former; former != nil {
		// The replica that forwarded the message has just read the claim, so f.Claim is
		// current.
		if f.Claim.Message == "" || f.Claim == former.claim {
			tn.become(former)
			return a
		}
		tn.former = nil
	}
	tn.claim = f.Claim
	tn.term = h.coordinator.Term()
	if !slices.Contains(f.Request.Message.ReferenceTasks, f.NewTask) {
		tn.taskID = f.NewTask // the claim names this task, so other replicas look for the message in it
	}
	err := h.allowClaimed(ctx, tn, &f)
	if err == nil && !h.reserveForwarded(tn) {
		err = errQueueBytes
	}
	if err == nil {
		err = h.admit(ctx, tn)
	}
	h.releaseForwarded(tn)
	if _, away := isElsewhere(err); away {
		err = errMoving()
	}
	if err != nil {
		h.drop(tn, err)
	}
	return a
}

// allowClaimed calls allow if this replica has the claim on the message (f.NewTask is set).
// Otherwise, this replica only runs the task, and the replica that forwarded the message has
// the claim and has called Options.Allow.
func (h host) allowClaimed(ctx context.Context, tn *turn, f *coordination.Forwarded) error {
	if f.NewTask == "" {
		return nil
	}
	return h.allow(ctx, tn)
}

// accepted is a turn that runs here for another replica.
type accepted struct {
	*turn
	engine *Engine
	// sent is the request of the other replica. turn.request may be the request of an earlier
	// copy of the message.
	sent *a2a.SendRequest
}

// Decided implements coordination.Accepted.
func (a accepted) Decided() bool { return a.isDecided() }

// Wait implements coordination.Accepted.
func (a accepted) Wait(ctx context.Context) (coordination.Outcome, error) {
	err := a.wait(ctx)
	if err == nil {
		err = a.engine.attachFound(ctx, a.sent, a.turn)
	}
	switch {
	case errors.Is(err, errDrained):
		return coordination.Outcome{}, errShuttingDown()
	case err != nil:
		return coordination.Outcome{}, err
	case a.answer != nil:
		return coordination.Outcome{Message: a.answer.Message}, nil
	}
	return coordination.Outcome{Turn: &coordination.Position{
		Key: store.Key{Owner: a.sent.Owner, TaskID: a.taskID}, Log: a.log, Seq: a.first.Seq,
	}}, nil
}
