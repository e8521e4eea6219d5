// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Subscribe implements a2a.Handler. It resumes after the event r.After (Last-Event-ID). If
// r.After is nil, or the log does not have all events after it, the stream begins with the
// current task.
func (e *Engine) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
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
		return e.follow(log, withHistory(first, r.HistoryLength), first.Seq, closesSubscribe), nil
	}
	_, err = log.Read(ctx, nil, *r.After)
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return e.follow(log, withHistory(first, r.HistoryLength), first.Seq, closesSubscribe), nil
	case err != nil:
		return nil, storeError("read task", r.TaskID, err)
	}
	return e.follow(log, nil, *r.After, closesSubscribe), nil
}

// closesSubscribe reports whether an event ends a subscription.
func closesSubscribe(u *a2a.StatusUpdate) bool { return u.Status.State.Terminal() }

// follow returns a subscription to the events after the event numbered after. If first is not
// nil, the subscription returns first before these events. The subscription ends with the
// first status for which closes returns true.
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

var _ a2a.Stream = (*subscription)(nil)

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

// taskAt returns the task as it was after the event numbered seq, or the current task if
// the log no longer has its beginning.
func taskAt(ctx context.Context, log store.Log, k store.Key, seq uint64) (*a2a.Record, error) {
	record, err := store.TaskAt(ctx, log, seq)
	if record == nil {
		return nil, storeError("read task", k.TaskID, err)
	}
	return record, nil
}

func artifactOf(t *a2a.Task, id string) *a2a.Artifact {
	if t == nil {
		return nil
	}
	for i := range t.Artifacts {
		if t.Artifacts[i].ID == id {
			return &t.Artifacts[i]
		}
	}
	return nil
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
