// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Send implements a2a.Handler.
func (e *Engine) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	tn, err := e.decide(ctx, r)
	if err != nil {
		return a2a.Event{}, err
	}
	defer tn.clients.remove()
	if tn.answer != nil {
		return tn.answer.Event, nil
	}
	if !r.ReturnImmediately {
		outcome, err := e.waitStopped(ctx, tn)
		if err != nil {
			return a2a.Event{}, err
		}
		if outcome != nil {
			return a2a.Event{Task: outcome.Task.WithHistory(r.HistoryLength)}, nil
		}
	}
	t, err := snapshot(ctx, tn.log, tn.taskID, r.HistoryLength)
	if err != nil && r.ReturnImmediately {
		// The message was accepted, so the request succeeds.
		return a2a.Event{Task: tn.first.Task.WithHistory(r.HistoryLength)}, nil
	}
	if err != nil {
		return a2a.Event{}, err
	}
	return a2a.Event{Task: t}, nil
}

// waitStopped waits until the turn stops, at most for Options.BlockingCap. It returns the
// task at that moment, or nil if the caller has to answer with the current task. If another
// replica took the turn over, it then waits for the end of the turn there, again at most for
// Options.BlockingCap.
func (e *Engine) waitStopped(ctx context.Context, tn *turn) (*a2a.Record, error) {
	select {
	case <-tn.stopped: // often, the first events of an agent end the task
	default:
		limit := time.NewTimer(e.options.BlockingCap)
		defer limit.Stop()
		select {
		case <-tn.stopped:
		case <-limit.C:
			return nil, nil // there is no outcome yet
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if tn.elsewhere {
		return e.waitStoppedElsewhere(ctx, tn)
	}
	return tn.last, nil
}

func (e *Engine) waitStoppedElsewhere(ctx context.Context, tn *turn) (*a2a.Record, error) {
	limited, cancel := context.WithTimeout(ctx, e.options.BlockingCap)
	defer cancel()
	record, err := e.outcome(limited, tn)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, nil // there is no outcome yet
	}
	return record, err
}

// Stream implements a2a.Handler.
func (e *Engine) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	tn, err := e.decide(ctx, r)
	if err != nil {
		return nil, err
	}
	defer tn.clients.remove()
	if tn.answer != nil {
		return &answer{record: tn.answer}, nil
	}
	return e.follow(tn.log, withHistory(tn.first, r.HistoryLength), tn.first.Seq, (*a2a.StatusUpdate).Final), nil
}

// decide starts to process a message and returns its turn once it is decided. If the message
// joined the turn of an earlier copy, and this copy was refused because its client
// disconnected, decide processes the message again. If the message has a push configuration
// that may be missing in the task, decide attaches it. The client is one of turn.clients. The
// caller removes it, unless decide returns an error.
func (e *Engine) decide(ctx context.Context, r *a2a.SendRequest) (*turn, error) {
	for {
		tn := e.submit(ctx, r)
		err := tn.wait(ctx)
		if err == nil {
			err = e.attachFound(ctx, r, tn)
		}
		if err == nil {
			return tn, nil
		}
		tn.clients.remove()
		if !tn.isRefused() || !tn.abandoned || ctx.Err() != nil {
			return nil, err
		}
	}
}

// submit starts to process a message and returns its turn. If the client has sent the
// same message before, this is the turn of the first copy. If submit refuses the message,
// the turn is decided when submit returns. submit adds the client to turn.clients.
func (e *Engine) submit(ctx context.Context, r *a2a.SendRequest) *turn {
	if e.draining.Load() {
		tn := newTurn(r)
		tn.clients.add()
		tn.refuse(errUnavailable())
		return tn
	}
	tn, joined := e.recent.findOrAdd(r, e.options.Now())
	tn.clients.add()
	if joined {
		return tn
	}
	if !e.coordinator.Exclusive() {
		tn.setMessage()
		err := e.findPaused(ctx, tn)
		var followed bool
		if err == nil {
			followed, err = e.claim(ctx, tn)
		}
		if err != nil {
			e.refuse(ctx, tn, err)
		}
		if err != nil || followed {
			return tn
		}
	}
	err := e.allow(ctx, tn)
	if err == nil {
		err = e.admit(ctx, tn)
	}
	if replica, ok := isElsewhere(err); ok {
		err = errMoving()
		if tn.handle(forwardedAway) {
			err = e.forward(tn, replica, "")
		}
	}
	if err != nil {
		e.refuse(ctx, tn, err)
	}
	return tn
}

// refuse refuses a message. ctx is the context of the request: if it has ended, the client
// has disconnected, and refuse sets outcome.abandoned.
func (e *Engine) refuse(ctx context.Context, tn *turn, err error) {
	if !tn.isDecided() {
		tn.abandoned = ctx.Err() != nil
	}
	e.drop(tn, err)
}

func isElsewhere(err error) (store.Replica, bool) {
	elsewhere, ok := errors.AsType[*elsewhereError](err)
	if !ok {
		return "", false
	}
	return elsewhere.replica, true
}

// admit assigns a message to a task. If the limits of turns allow no run now, the message
// first waits in the turn queue, without a lock. admit then looks for the task again,
// because the task of the message may have changed.
func (e *Engine) admit(ctx context.Context, tn *turn) error {
	err := e.route(ctx, tn)
	if err == error(errTurnLimit) { //nolint:errorlint // only the unwrapped error counts
		if err = e.queue(ctx, tn); err == nil {
			tn.reserved = true
			if err = e.allow(ctx, tn); err == nil {
				err = e.route(ctx, tn)
			}
		}
	}
	if tn.reserved {
		// The message was refused, or waits for another turn of its task, so its own turn
		// does not run yet.
		tn.reserved = false
		e.turns.end(tn.principal, tn.size)
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok && (problem == errTurnLimit || problem == errQueueFull || problem == errQueueBytes) {
		e.options.Observer.Refused()
	}
	return err
}

// queue waits in the turn queue. It returns nil once the turn counts as running.
func (e *Engine) queue(ctx context.Context, tn *turn) error {
	if !e.reserveWaitingBytes(tn) {
		return errQueueBytes
	}
	defer e.releaseWaitingBytes(tn)
	return e.turns.wait(ctx, tn.principal, tn.size)
}

// route assigns a message to a task: the task that it names, the task whose input request
// it answers, the paused task of its context, or a new task.
func (e *Engine) route(ctx context.Context, tn *turn) error {
	tn.setMessage()
	m := tn.message
	if err := e.checkPush(ctx, tn.request.Push); err != nil {
		return err
	}
	if m.TaskID == "" {
		if accepted, err := e.answerInput(ctx, tn); accepted || err != nil {
			return err
		}
		if accepted, err := e.reply(ctx, tn); accepted || err != nil {
			return err
		}
		return e.startTask(ctx, tn)
	}
	tn.taskID = m.TaskID
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: m.TaskID}, tn.request.ClientTaskID)
	if err != nil {
		return err
	}
	defer e.release(t)
	return t.accept(ctx, tn)
}

// startTask starts the first turn of a new task. If the request has neither
// ReturnImmediately nor a push configuration, it does not create the task yet, because the
// agent may answer without a task.
func (e *Engine) startTask(ctx context.Context, tn *turn) error {
	if tn.taskID == "" || e.isActive(store.Key{Owner: tn.request.Owner, TaskID: tn.taskID}) {
		tn.taskID = newID()
	}
	tn.message.TaskID = tn.taskID
	t := newTask(e, store.Key{Owner: tn.request.Owner, TaskID: tn.taskID}, nil)
	t.lock(ctx) // Drain must not see the reservation before the run is set
	defer t.unlock()
	return t.startFirstTurn(ctx, tn, tn.request.ReturnImmediately || tn.request.Push != nil)
}
