// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// claim claims the message of a turn, so that no other replica processes it. It returns true
// if the message has a turn already: tn.former, a turn in a log, or a turn of the replica
// that has the claim. In the first two cases, tn takes the outcome of that turn. In the
// third case, claim forwards the message, and the other replica decides tn.
func (e *Engine) claim(ctx context.Context, tn *turn) (followed bool, err error) {
	tn.term = e.coordinator.Term()
	if tn.recent == nil {
		return false, nil
	}
	task := cmp.Or(tn.message.TaskID, tn.pausedTask)
	if task == "" {
		tn.taskID = newID()
		task = tn.taskID
	}
	request := coordination.ClaimRequest{Request: tn.request, Task: task, Window: e.options.DeduplicationWindow()}
	if tn.former != nil {
		request.Former = tn.former.claim
	}
	c, err := e.coordinator.Claim(ctx, request)
	if err != nil {
		return false, storeError("claim message", tn.taskID, err)
	}
	tn.claim = c.Claim
	switch {
	case c.Mine:
		tn.former = nil
		tn.releaseClaim = c.Release
		return false, nil
	case c.Former:
		tn.become(tn.former)
		return true, nil
	case c.Found != nil:
		tn.foundInLog = true
		return true, tn.followFrom(ctx, c.Found)
	case !tn.handle(forwardedAway): // the replica with the claim has forwarded a copy and waits for it
		tn.former = nil
		return false, nil
	default:
		return true, e.forward(tn, c.Replica, c.Task)
	}
}

// forward sends the message of a turn to another replica, which decides the turn. If the
// other replica claimed the message, newTask is the task that its claim names; otherwise it
// is "".
func (e *Engine) forward(tn *turn, to store.Replica, newTask string) error {
	request := *tn.request
	message := *tn.request.Message
	message.ID = tn.message.ID
	request.Message = &message
	f := coordination.Forwarded{To: to, Request: &request, Task: tn.taskID, NewTask: newTask, Claim: tn.claim}
	return e.coordinator.Forward(f, func(ctx context.Context, o coordination.Outcome, err error) {
		switch {
		case err != nil:
			err = storeError("forward message", f.Task, err)
		case o.Message != nil:
			tn.decideWithAnswer(o.Message)
		default:
			tn.foundInLog = o.Found
			err = tn.followFrom(ctx, o.Turn)
			o.Unknown = true
		}
		if o.Unknown {
			tn.releaseClaim = nil // the claim stays: it names the task in which other replicas find the message
		}
		if err != nil {
			e.drop(tn, err)
		}
	})
}

// followFrom decides a turn whose message another replica processes or has processed. at is
// the event with which the turn began there.
func (tn *turn) followFrom(ctx context.Context, at *coordination.Position) error {
	first, err := taskAt(ctx, at.Log, at.Key, at.Seq)
	if err != nil {
		return err
	}
	tn.follow(at.Log, at.Key, first)
	return nil
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
		return coordination.Outcome{}, errUnavailable()
	case err != nil:
		return coordination.Outcome{}, err
	case a.answer != nil:
		return coordination.Outcome{Message: a.answer.Message}, nil
	}
	return coordination.Outcome{Turn: &coordination.Position{
		Key: store.Key{Owner: a.sent.Owner, TaskID: a.taskID}, Log: a.log, Seq: a.first.Seq,
	}}, nil
}

// outcome waits for the end of a turn that another replica runs: it reads the log until the
// task is terminal or interrupted, and returns the task in that state.
func (e *Engine) outcome(ctx context.Context, tn *turn) (*a2a.Record, error) {
	s := e.follow(tn.log, nil, tn.first.Seq, func(u *a2a.StatusUpdate) bool {
		return u.Status.State.Terminal() || u.Status.State.Interrupted()
	})
	defer s.Close()
	s.withMessages = true
	fold := store.Resume(tn.first.Task)
	seq := tn.first.Seq
	for {
		records, err := s.Next(ctx)
		if err != nil && s.ended {
			return &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}}, nil
		}
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			fold.Replay(&record.Event)
			seq = record.Seq
		}
	}
}

// drop refuses the message of a turn and forgets it, so that the client may send it
// again.
func (e *Engine) drop(tn *turn, err error) {
	e.recent.forget(tn)
	if tn.releaseClaim != nil {
		tn.releaseClaim()
	}
	tn.refuse(err)
}
