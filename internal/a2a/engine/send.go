// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"
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
		outcome, err := e.waitStopped(ctx, tn, r.Owner)
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
	return e.follow(tn.log, withHistory(tn.first, r.HistoryLength), tn.first.Seq, (*a2a.StatusUpdate).Final, e.options.Loads.Reader(r.Owner)), nil
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

// attachFound registers the push configuration of a message that a client has sent again, if
// the turn of the earlier copy was found in a log (outcome.foundInLog). Like attachPush, it continues
// when the client disconnects. r is the request of the client, and tn its decided turn.
func (e *Engine) attachFound(ctx context.Context, r *a2a.SendRequest, tn *turn) error {
	if r.Push == nil || !tn.foundInLog {
		return nil
	}
	if err := e.checkPush(ctx, r.Push); err != nil {
		return err
	}
	k := store.Key{Owner: r.Owner, TaskID: tn.taskID}
	config := *r.Push
	config.TaskID = k.TaskID
	err := e.options.Pushes.Reattach(context.WithoutCancel(ctx), k, config, tn.first.Seq)
	return wrapUnlessClientError("attach push configuration", err)
}

// waitStopped waits until the turn stops, at most for Options.BlockingCap. It returns the
// task at that moment, or nil if the caller has to answer with the current task. If another
// replica took the turn over, it then waits for the end of the turn there, again at most for
// Options.BlockingCap.
func (e *Engine) waitStopped(ctx context.Context, tn *turn, owner a2a.Owner) (*a2a.Record, error) {
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
		return e.waitStoppedElsewhere(ctx, tn, owner)
	}
	return tn.last, nil
}

func (e *Engine) waitStoppedElsewhere(ctx context.Context, tn *turn, owner a2a.Owner) (*a2a.Record, error) {
	limited, cancel := context.WithTimeout(ctx, e.options.BlockingCap)
	defer cancel()
	record, err := e.outcome(limited, tn, owner)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, nil // there is no outcome yet
	}
	return record, err
}

// outcome waits for the end of a turn that another replica runs: it reads the log until the
// task is terminal or interrupted, and returns the task in that state.
func (e *Engine) outcome(ctx context.Context, tn *turn, owner a2a.Owner) (*a2a.Record, error) {
	s := e.follow(tn.log, nil, tn.first.Seq, func(u *a2a.StatusUpdate) bool {
		return u.Status.State.Terminal() || u.Status.State.Interrupted()
	}, e.options.Loads.Reader(owner))
	defer s.Close()
	for !s.ended {
		if _, err := s.Next(ctx); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return e.taskAt(ctx, tn.log, store.Key{Owner: owner, TaskID: tn.taskID}, s.after)
}

// answer is the stream of a turn that the agent answered with a message and no task.
type answer struct{ record *a2a.Record }

// Next implements a2a.Stream.
func (a *answer) Next(context.Context) ([]*a2a.Record, error) {
	if a.record == nil {
		return nil, io.EOF
	}
	r := a.record
	a.record = nil
	return []*a2a.Record{r}, nil
}

// Close implements a2a.Stream.
func (a *answer) Close() {}
