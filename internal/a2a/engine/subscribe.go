// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Subscribe implements a2a.Handler.
func (e *Engine) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	log, err := e.open(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	first, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", r.TaskID, err)
	}
	if r.After == nil || *r.After > first.Seq {
		return e.follow(log, withHistory(first, r.HistoryLength), first.Seq, closesSubscribe), nil
	}
	_, err = log.Read(ctx, nil, *r.After)
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return e.follow(log, withHistory(first, r.HistoryLength), first.Seq, closesSubscribe), nil
	case err != nil:
		return nil, storeError("read task", r.TaskID, err)
	}
	s := e.follow(log, nil, *r.After, closesSubscribe)
	s.ended = *r.After == first.Seq && first.Task.Status.State.Terminal()
	return s, nil
}

// closesSend reports whether an event ends the stream of a message: the task
// is over, or waits for an answer and no run waits with it. Authentication
// happens elsewhere, so a stream that waits for it stays open.
func closesSend(u *a2a.StatusUpdate) bool {
	return u.Status.State.Terminal() || u.Status.State == a2a.StateInputRequired && !u.Paused
}

// closesSubscribe reports whether an event ends a subscription.
func closesSubscribe(u *a2a.StatusUpdate) bool { return u.Status.State.Terminal() }

// withHistory returns a snapshot with a bounded history. One that is not
// changed is shared, with its encodings.
func withHistory(r *a2a.Record, n *int) *a2a.Record {
	t := r.Task.WithHistory(n)
	if t == r.Task {
		return r
	}
	return &a2a.Record{Seq: r.Seq, Event: a2a.Event{Task: t}}
}

func (e *Engine) follow(log store.Log, first *a2a.Record, after uint64, closes func(*a2a.StatusUpdate) bool) *subscription {
	s := &subscription{log: log, after: after, closes: closes, audience: &e.audience, wake: make(chan struct{}, 1)}
	if first != nil {
		s.batch = append(s.batch, first)
		s.ended = first.Task.Status.State.Terminal()
	}
	if e.replica != nil {
		s.patience = int(e.options.OutagePatience / insistMost)
	}
	e.audience.join(s)
	s.stop = log.Watch(s.told)
	return s
}

// subscription is a cursor into a log. It owns no events.
type subscription struct {
	log      store.Log
	after    uint64
	closes   func(*a2a.StatusUpdate) bool
	audience *audience
	wake     chan struct{}
	stop     func()
	// batch is what Next returns; before the first call it may hold the
	// snapshot.
	batch []*a2a.Record
	// returned is true when the caller has seen the batch.
	returned, ended bool
	// whole is true for who wants the messages of the client, too.
	whole bool
	// failures counts the seconds that the store has not answered, and patience
	// bounds them.
	failures, patience int
}

var _ a2a.Stream = (*subscription)(nil)

// Next implements a2a.Stream.
func (s *subscription) Next(ctx context.Context) ([]*a2a.Record, error) {
	if s.returned {
		s.batch = s.batch[:0]
	}
	s.returned = true
	for !s.ended {
		from := s.after
		err := s.read(ctx)
		if len(s.batch) > 0 {
			// What is there comes first; an error comes again.
			return s.batch, nil
		}
		if err != nil && !s.endures(ctx, err) {
			return nil, err
		}
		if err != nil || s.after != from {
			continue
		}
		if err := s.wait(ctx); err != nil {
			return nil, err
		}
	}
	if len(s.batch) > 0 {
		return s.batch, nil
	}
	return nil, io.EOF
}

// endures waits for a store to answer again, and reports whether it may.
func (s *subscription) endures(ctx context.Context, err error) bool {
	if !errors.Is(err, errStore) || s.failures >= s.patience {
		return false
	}
	s.failures++
	sleep(ctx, insistMost)
	return ctx.Err() == nil
}

// read adds what is ready, up to the event that ends the stream. Messages of
// the client are in the log for the sake of the task, and no part of a stream.
func (s *subscription) read(ctx context.Context) error {
	before := len(s.batch)
	batch, err := s.log.Read(ctx, s.batch, s.after)
	switch {
	case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrNotFound):
		return a2a.ErrSlowSubscriber
	case err != nil:
		return fmt.Errorf("read log: %w: %w: %w", errStore, errStoreDown(), err)
	}
	s.batch, s.failures = batch, 0
	kept := s.batch[:before]
	for _, r := range s.batch[before:] {
		s.after = r.Seq
		if r.Message != nil && !s.whole {
			continue
		}
		kept = append(kept, r)
		if r.Status != nil && s.closes(r.Status) {
			s.ended = true
			break
		}
	}
	s.batch = kept
	return nil
}

// wait returns when there may be more. A server that shuts down has nothing
// more once all is read.
func (s *subscription) wait(ctx context.Context) error {
	over := s.audience.over.Load()
	select {
	case <-s.wake:
		// Appended before the end, perhaps, and seen after it.
		return nil
	default:
	}
	if over {
		return a2a.ErrDraining
	}
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// told wakes whoever waits in Next. A channel that is full has told already.
func (s *subscription) told() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close implements a2a.Stream.
func (s *subscription) Close() {
	s.stop()
	s.audience.leave(s)
}

// answer is the stream of a message without a task.
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
