// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Send implements a2a.Handler.
func (e *Engine) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	tn := e.submit(ctx, r)
	if err := tn.wait(ctx); err != nil {
		return a2a.Event{}, err
	}
	if tn.answer != nil {
		return tn.answer.Event, nil
	}
	if !r.ReturnImmediately {
		outcome, err := e.settled(ctx, tn)
		if err != nil {
			return a2a.Event{}, err
		}
		if outcome != nil {
			return a2a.Event{Task: outcome.Task.WithHistory(r.HistoryLength)}, nil
		}
	}
	t, err := snapshot(ctx, tn.log, tn.taskID, r.HistoryLength)
	if err != nil && r.ReturnImmediately {
		// The message was taken, which is all that was asked.
		return a2a.Event{Task: tn.opening.Task.WithHistory(r.HistoryLength)}, nil
	}
	if err != nil {
		return a2a.Event{}, err
	}
	return a2a.Event{Task: t}, nil
}

// settled waits for the task to stop, or for the patience of proxies to end. It
// returns the task as it was when it stopped, if it has gone on since.
func (e *Engine) settled(ctx context.Context, tn *turn) (*a2a.Record, error) {
	capped := time.NewTimer(e.options.BlockingCap)
	defer capped.Stop()
	select {
	case <-tn.settled:
		if tn.moved {
			return e.outcomeWithin(ctx, tn)
		}
		return tn.outcome, nil
	case <-capped.C:
		return nil, nil //nolint:nilnil // there is no outcome yet
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// outcomeWithin is outcome with the patience of proxies.
func (e *Engine) outcomeWithin(ctx context.Context, tn *turn) (*a2a.Record, error) {
	capped, cancel := context.WithTimeout(ctx, e.options.BlockingCap)
	defer cancel()
	record, err := e.outcome(capped, tn)
	if err != nil && capped.Err() != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilnil // there is no outcome yet
	}
	return record, err
}

// Stream implements a2a.Handler.
func (e *Engine) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	tn := e.submit(ctx, r)
	if err := tn.wait(ctx); err != nil {
		return nil, err
	}
	if tn.answer != nil {
		return &answer{record: tn.answer}, nil
	}
	return e.follow(tn.log, withHistory(tn.opening, r.HistoryLength), tn.opening.Seq, closesSend), nil
}

// submit brings a message on its way, or joins the turn of the same message.
// What becomes of it is told by the turn.
func (e *Engine) submit(ctx context.Context, r *a2a.SendRequest) *turn {
	if e.draining.Load() {
		tn := newTurn(r)
		tn.refuse(errUnavailable())
		return tn
	}
	tn, joined := e.recent.findOrAdd(r, e.options.Now())
	if joined {
		return tn
	}
	if e.replica != nil {
		tn.complete()
		if err := e.lookForPaused(ctx, tn); err != nil {
			e.drop(tn, err)
			return tn
		}
		if followed, err := e.replica.claim(ctx, tn); followed || err != nil {
			if err != nil {
				e.drop(tn, err)
			}
			return tn
		}
	}
	err := e.admit(ctx, tn)
	if away, ok := errors.AsType[*elsewhere](err); ok {
		err = e.replica.forward(tn, away.replica, "")
	}
	if err != nil {
		e.drop(tn, err)
	}
	return tn
}

// admit places a turn, and has it wait for a place when there is none. Nothing
// is held meanwhile, so the task may have moved on: the turn is placed anew.
func (e *Engine) admit(ctx context.Context, tn *turn) error {
	err := e.place(ctx, tn)
	if err == error(errTurnLimit) { //nolint:errorlint // it is this very error
		if err = e.queue(ctx, tn); err == nil {
			tn.reserved = true
			err = e.place(ctx, tn)
		}
	}
	if tn.reserved {
		// It was refused for another reason, or waits for its task.
		tn.reserved = false
		e.turns.end(tn.principal)
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok && (problem == errTurnLimit || problem == errQueueFull) {
		e.options.Observer.Refused()
	}
	return err
}

// queue waits for a place. What the message holds is counted among what waits.
func (e *Engine) queue(ctx context.Context, tn *turn) error {
	if !e.keep(tn) {
		return errQueueFull
	}
	defer e.free(tn)
	return e.turns.wait(ctx, tn.principal)
}

// submitHere is submit for a message that another replica brought. It goes no
// further. claimed is the task that it makes if it makes one, "" for any, and claim
// the one that stands for it.
func (e *Engine) submitHere(ctx context.Context, r *a2a.SendRequest, claimed string, claim store.ClaimedMessage) *turn {
	tn, joined := e.recent.findOrAdd(r, e.options.Now())
	if joined {
		return tn
	}
	if former := tn.former; former != nil {
		// Whoever brought it has just seen the claim that stands.
		if claim.Message == "" || claim == former.claim {
			tn.become(former)
			return tn
		}
		tn.former = nil
	}
	tn.taskID, tn.claim = claimed, claim
	err := e.admit(ctx, tn)
	if _, away := errors.AsType[*elsewhere](err); away {
		err = errNotNow()
	}
	if err != nil {
		e.drop(tn, err)
	}
	return tn
}

// drop refuses a message, which may then be sent again.
func (e *Engine) drop(tn *turn, err error) {
	e.recent.forget(tn)
	if tn.unclaim != nil {
		tn.unclaim()
	}
	tn.refuse(err)
}

// complete fills in ids on a copy: the request is its caller's. The id of a
// message stays, however often it is placed.
func (tn *turn) complete() {
	m := *tn.request.Message
	if tn.message != nil {
		m.ID = tn.message.ID
	}
	tn.message, tn.kept = &m, &m
	// Whatever a client calls itself: the agent must not be shown its words as
	// the agent's own, and turns are counted by them.
	m.Role = a2a.RoleUser
	if m.ID == "" {
		m.ID = newID()
	}
}

// place gives the turn of a message to a task.
func (e *Engine) place(ctx context.Context, tn *turn) error {
	tn.complete()
	m := tn.message
	if err := e.checkPush(ctx, tn.request.Push); err != nil {
		return err
	}
	if m.TaskID == "" {
		if taken, err := e.answer(ctx, tn); taken || err != nil {
			return err
		}
		if taken, err := e.reply(ctx, tn); taken || err != nil {
			return err
		}
		return e.start(ctx, tn)
	}
	tn.taskID = m.TaskID
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: m.TaskID}, tn.request.ClientTaskID)
	if err != nil {
		return err
	}
	defer e.release(t)
	return t.accept(ctx, tn)
}

func (e *Engine) checkPush(ctx context.Context, p *a2a.PushConfig) error {
	switch {
	case p == nil:
		return nil
	case e.options.Pushes == nil:
		return &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	return wrapUnlessClientError("check push configuration", e.options.Pushes.Check(ctx, *p))
}

// start gives a turn to a task that does not exist yet, and will not if the
// agent answers without one.
func (e *Engine) start(ctx context.Context, tn *turn) error {
	t := &task{engine: e, key: store.Key{Owner: tn.request.Owner, TaskID: tn.taskID}}
	if tn.taskID == "" || e.isBusyWith(t.key) {
		tn.taskID = newID()
		t.key.TaskID = tn.taskID
	}
	tn.message.TaskID = tn.taskID
	// From the moment it is hired, Drain must find a run.
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found(ctx, tn, tn.request.ReturnImmediately || tn.request.Push != nil)
}

// newID returns an id that sorts by its time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
