// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Subscribe implements a2a.Handler. It resumes after the event r.After (Last-Event-ID). If
// r.After is nil, or the log does not have all events after it, the stream begins with the
// current task.
func (e *Engine) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (stream a2a.Stream, err error) {
	reader := e.options.Loads.Reader(r.Owner)
	defer func() {
		if err != nil {
			reader.Release()
		}
	}()
	ctx = reader.In(ctx)
	log, err := e.open(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	first, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", r.TaskID, err)
	}
	// A client that resumes after the last event of an ended task gets the task once more. An
	// empty stream would make it subscribe again.
	atEnd := r.After != nil && *r.After == first.Seq && first.Task.Status.State.Terminal()
	if atEnd && r.RefuseEnded {
		return nil, a2a.TaskEnded(r.TaskID)
	}
	if r.After == nil || *r.After > first.Seq || atEnd {
		return e.follow(log, withHistory(first, r.HistoryLength), first.Seq, closesSubscribe, reader), nil
	}
	_, err = log.Read(ctx, nil, *r.After)
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return e.follow(log, withHistory(first, r.HistoryLength), first.Seq, closesSubscribe, reader), nil
	case err != nil:
		return nil, storeError("read task", r.TaskID, err)
	}
	reader.Release() // the stream reads the events again
	return e.follow(log, nil, *r.After, closesSubscribe, reader), nil
}

// closesSubscribe reports whether an event ends a subscription.
func closesSubscribe(u *a2a.StatusUpdate) bool { return u.Status.State.Terminal() }

func (e *Engine) open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := e.options.Store.Open(ctx, k)
	if err != nil {
		return nil, storeError("open task", k.TaskID, err)
	}
	return log, nil
}

func snapshot(ctx context.Context, log store.Log, id string, history *int) (*a2a.Task, error) {
	record, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", id, err)
	}
	return record.Task.WithHistory(history), nil
}

// withHistory returns a snapshot with at most the newest *n messages of the history; nil
// means all. If all messages of r remain, it returns r itself, with its cached encodings.
func withHistory(r *a2a.Record, n *int) *a2a.Record {
	t := r.Task.WithHistory(n)
	if t == r.Task {
		return r
	}
	return &a2a.Record{Seq: r.Seq, Event: a2a.Event{Task: t}}
}

// follow returns a subscription to the events after the event numbered after. If first is not
// nil, the subscription returns first before these events. The subscription ends with the
// first status for which closes returns true. reader holds memory for first; nil for none.
func (e *Engine) follow(log store.Log, first *a2a.Record, after uint64, closes func(*a2a.StatusUpdate) bool, reader *store.Reader) *subscription {
	s := &subscription{log: log, after: after, closes: closes, reader: reader, subscribers: &e.subscribers, wake: make(chan struct{}, 1)}
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
	// reader holds the memory of batch.
	reader *store.Reader
	// batch is the result of Next. Before the first call, it may contain the snapshot.
	batch []*a2a.Record
	// returned is true once Next has returned the batch. ended is true once no further
	// record follows.
	returned, ended bool
	// failures counts the failed reads in a row. During an outage, Next repeats the read
	// every second, and returns the error after maxFailures failures.
	failures, maxFailures int
}

var _ a2a.Stream = (*subscription)(nil)

// Next implements a2a.Stream.
func (s *subscription) Next(ctx context.Context) ([]*a2a.Record, error) {
	if s.returned {
		clear(s.batch) // otherwise the array keeps the records in memory
		s.batch = s.batch[:0]
		s.reader.Release()
	}
	s.returned = true
	ctx = s.reader.In(ctx)
	for !s.ended {
		from := s.after
		err := s.read(ctx)
		if len(s.batch) > 0 {
			// The next read returns the error again, if there is one.
			return s.batch, nil
		}
		s.reader.Release() // nothing of what was read is kept
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

// waitForStore waits for a second after a read that failed because of an outage of the
// store, or because others use the memory for what is read, and reports whether Next may read again.
func (s *subscription) waitForStore(ctx context.Context, err error) bool {
	if !errors.Is(err, errStore) || s.failures >= s.maxFailures {
		return false
	}
	s.failures++
	store.Sleep(ctx, store.LastRetry)
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
	case errors.Is(err, store.ErrRolledBack):
		return fmt.Errorf("read log: %w: %w", errRolledBack(), err)
	case err != nil:
		return fmt.Errorf("%w: %w", errStore, store.ClientError("read log", err))
	}
	s.batch = batch
	s.failures = 0
	kept := s.batch[:before]
	for _, r := range s.batch[before:] {
		s.after = r.Seq
		if r.Message != nil {
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

// wait returns nil when there may be new records, ErrDraining when the engine has drained
// and there are none, and the cause of ctx when ctx ends.
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
	s.reader.Release()
	s.subscribers.remove(s)
}

// subscribers is the set of open subscriptions of an engine. close wakes them when the
// engine has drained. Each subscription has its own wake-up channel: if all of them selected
// on one shared channel, each would lock this channel for every event.
type subscribers struct {
	closed atomic.Bool

	mu   sync.Mutex
	open map[*subscription]struct{}
}

func (s *subscribers) add(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*subscription]struct{}{}
	}
	s.open[sub] = struct{}{}
}

func (s *subscribers) remove(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sub)
}

// close wakes all subscriptions. A subscription that is added later finds closed set.
func (s *subscribers) close() {
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.open {
		sub.signal()
	}
}
