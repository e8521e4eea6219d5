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

const (
	// maxForwarded bounds the messages that are with other replicas.
	maxForwarded = 1024
	// forwardPatience is how long a replica may take to take a message.
	forwardPatience = 5 * time.Second
)

// forward brings a message to the replica that runs its task, where it is
// queued, answered or refused like those of that replica's own clients. What
// becomes of it is told by the turn. The task's lock is not held.
func (r *replica) forward(tn *turn, to store.Replica) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return errUnavailable()
	case len(r.questions) >= maxForwarded:
		return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many messages are with other replicas"}
	}
	request := *tn.request
	message := *request.Message
	message.ID = tn.message.ID
	request.Message = &message
	r.group.Go(func() {
		if err := r.relay(tn, to, &request); err != nil {
			r.engine.drop(tn, err)
		}
	})
	return nil
}

// relay is the whole way of one message. An error refuses it.
func (r *replica) relay(tn *turn, to store.Replica, request *a2a.SendRequest) error {
	number, answers, end := r.ask()
	defer end()
	place, err := r.Post(r.ctx, to, &store.Mail{From: r.Self(), Kind: store.MailMessage, Number: number, Request: request})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return errNotNow()
	case errors.Is(err, store.ErrFull):
		return errTooManyMails()
	case err != nil:
		return storeError("forward message", tn.taskID, err)
	}
	patience := time.NewTimer(forwardPatience)
	defer patience.Stop()
	alive := time.NewTicker(r.engine.options.Lease)
	defer alive.Stop()
	for {
		select {
		case m := <-answers:
			patience.Stop()
			if m.Kind == store.MailDecided {
				return r.decided(tn, m)
			}
		case <-patience.C:
			// It is taken back, or it was received: then there will be an answer.
			if back, err := r.Withdraw(r.ctx, to, place); back || err != nil {
				return errNotNow()
			}
		case <-alive.C:
			if lives, err := r.Alive(r.ctx, to); err == nil && !lives {
				return r.inherit(tn, request)
			}
		case <-r.ctx.Done():
			return errUnavailable()
		}
	}
}

// inherit is what becomes of a message whose replica is gone: it is in the log
// of its task, or was lost.
func (r *replica) inherit(tn *turn, request *a2a.SendRequest) error {
	joined, err := r.join(r.ctx, tn, store.Key{Owner: request.Owner, TaskID: request.Message.TaskID}, request.Message.ID)
	if joined || err != nil {
		return err
	}
	return errNotNow()
}

func (r *replica) decided(tn *turn, m *store.Mail) error {
	switch {
	case m.Problem != nil:
		return m.Problem
	case m.Message != nil:
		tn.reply(m.Message)
		return nil
	default:
		return r.followFrom(r.ctx, tn, m.Task, m.Seq)
	}
}

// followFrom decides a turn that is run elsewhere: it is followed in the log,
// where it began with an event.
func (r *replica) followFrom(ctx context.Context, tn *turn, k store.Key, seq uint64) error {
	log, err := r.engine.open(ctx, k)
	if err != nil {
		return err
	}
	opening, err := openingAt(ctx, log, k, seq)
	if err != nil {
		return err
	}
	tn.taskID, tn.moved = k.TaskID, true
	tn.open(log, opening)
	tn.settle()
	return nil
}

// openingAt returns the task as it was at an event or, when the log does not
// say, as it is.
func openingAt(ctx context.Context, log store.Log, k store.Key, seq uint64) (*a2a.Record, error) {
	now, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", k.TaskID, err)
	}
	if now.Seq <= seq {
		return now, nil
	}
	fold := store.NewFold(k.TaskID, store.Origin{ContextID: now.Task.ContextID, Dialect: now.Task.Dialect})
	var batch []*a2a.Record
	for at := uint64(0); at < seq; {
		batch, err = log.Read(ctx, batch[:0], at)
		switch {
		case errors.Is(err, store.ErrTrimmed):
			return now, nil
		case err != nil:
			return nil, storeError("read task", k.TaskID, err)
		case len(batch) == 0:
			return now, nil
		}
		for _, record := range batch {
			if record.Seq <= seq {
				fold.Replay(&record.Event)
			}
			at = record.Seq
		}
	}
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}}, nil
}

// join has a turn follow the same message, if that is in the log of a task.
func (r *replica) join(ctx context.Context, tn *turn, k store.Key, message string) (joined bool, err error) {
	if k.TaskID == "" {
		return false, nil
	}
	log, err := r.engine.open(ctx, k)
	if err != nil {
		return false, unlessMissing(err)
	}
	seq, err := find(ctx, log, message)
	if err != nil || seq == 0 {
		return false, unlessMissing(storeErrorOrNil("read task", k.TaskID, err))
	}
	// The status behind the message begins its turn.
	return true, r.followFrom(ctx, tn, k, seq+1)
}

// find returns the number of the event with a message; 0 when it is not there,
// or no longer.
func find(ctx context.Context, log store.Log, message string) (uint64, error) {
	var batch []*a2a.Record
	for at := uint64(0); ; {
		var err error
		batch, err = log.Read(ctx, batch[:0], at)
		if errors.Is(err, store.ErrTrimmed) {
			return 0, nil
		}
		if err != nil || len(batch) == 0 {
			return 0, err //nolint:wrapcheck // its caller does
		}
		for _, record := range batch {
			if at = record.Seq; record.Message != nil && record.Message.ID == message {
				return at, nil
			}
		}
	}
}

// outcome follows a turn that is run elsewhere to where its task stops.
func (e *Engine) outcome(ctx context.Context, tn *turn) (*a2a.Record, error) {
	s := e.follow(tn.log, nil, tn.opening.Seq, stops)
	defer s.Close()
	s.whole = true
	fold := store.Resume(tn.opening.Task)
	seq := tn.opening.Seq
	for {
		records, err := s.Next(ctx)
		if err != nil {
			if s.ended {
				return &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}}, nil
			}
			return nil, err
		}
		for _, record := range records {
			fold.Replay(&record.Event)
			seq = record.Seq
		}
	}
}

// stops reports whether an event has a blocking call answered.
func stops(u *a2a.StatusUpdate) bool {
	return u.Status.State.Terminal() || u.Status.State.Interrupted()
}
