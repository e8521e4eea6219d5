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

// closesSend reports whether an event ends the stream of a message: the task has
// ended, or requires input and no run stays connected. A task that requires
// authentication keeps the stream open, because the client authenticates out of band.
func closesSend(u *a2a.StatusUpdate) bool {
	return u.Status.State.Terminal() || u.Status.State == a2a.StateInputRequired && !u.Paused
}

// closesSubscribe reports whether an event ends a subscription.
func closesSubscribe(u *a2a.StatusUpdate) bool { return u.Status.State.Terminal() }

// withHistory returns a snapshot with at most the newest n messages; nil means all. A
// snapshot within the bound is returned itself, with its encodings.
func withHistory(r *a2a.Record, n *int) *a2a.Record {
	t := r.Task.WithHistory(n)
	if t == r.Task {
		return r
	}
	return &a2a.Record{Seq: r.Seq, Event: a2a.Event{Task: t}}
}

// follow subscribes to a log behind the event numbered after. The subscription first
// returns first, unless that is nil, and ends with the status for which closes is
// true.
func (e *Engine) follow(log store.Log, first *a2a.Record, after uint64, closes func(*a2a.StatusUpdate) bool) *subscription {
	s := &subscription{log: log, after: after, closes: closes, subscribers: &e.subscribers, wake: make(chan struct{}, 1)}
	if first != nil {
		s.batch = append(s.batch, first)
		s.ended = first.Task.Status.State.Terminal()
	}
	if !e.coordinator.Exclusive() {
		s.maxFailures = int(e.options.OutageRetryFor / store.LastRetry)
	}
	e.subscribers.add(s)
	s.stop = log.Watch(s.signal)
	return s
}

// subscription is a cursor into the log of a task. It holds no events of its own.
type subscription struct {
	log         store.Log
	after       uint64
	closes      func(*a2a.StatusUpdate) bool
	subscribers *subscribers
	wake        chan struct{}
	stop        func()
	// batch is what Next returns. Before the first call it may hold the snapshot.
	batch []*a2a.Record
	// returned is true once Next has returned the batch, ended once there is no more.
	returned, ended bool
	// withMessages includes the messages of the client.
	withMessages bool
	// failures counts the failed reads in a row, one a second. After maxFailures, Next
	// returns the error.
	failures, maxFailures int
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
			// The next read returns the error again, if there is one.
			return s.batch, nil
		}
		if err != nil && !s.waitForStore(ctx, err) {
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

// waitForStore waits for a second after an outage of the store, and reports whether
// Next may read again.
func (s *subscription) waitForStore(ctx context.Context, err error) bool {
	if !errors.Is(err, errStore) || s.failures >= s.maxFailures {
		return false
	}
	s.failures++
	sleep(ctx, store.LastRetry)
	return ctx.Err() == nil
}

// read adds the new records to the batch, up to the event that ends the stream. It
// leaves out the messages of the client: they are part of the task, not of a stream.
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
		if r.Message != nil && !s.withMessages {
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

// wait returns nil when there may be new records, and ErrDraining when the engine has
// drained and there are none.
func (s *subscription) wait(ctx context.Context) error {
	closed := s.subscribers.closed.Load()
	select {
	case <-s.wake:
		// A record may have been appended before the engine had drained.
		return nil
	default:
	}
	if closed {
		return a2a.ErrDraining
	}
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// signal wakes Next. If the channel is full, a wake-up is pending.
func (s *subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close implements a2a.Stream.
func (s *subscription) Close() {
	s.stop()
	s.subscribers.remove(s)
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
