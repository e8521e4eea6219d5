// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// watchedTask is a task with many readers.
type watchedTask struct {
	*subject
	readers []*reader
	// last contains the last stream of each reader, in the order of readers.
	last []history.Stream
}

// startWatchedTasks starts tasks, each with a driver and watchers, and returns when every reader has received
// its first event. A task with several turns ends its first turn with a question. wait waits for the end of all streams.
func (f *fleet) startWatchedTasks(ctx context.Context, n *counts, seed uint64, tasks, readers int, says func(i int) script.Script) (all []*watchedTask, wait func()) {
	var reading, begun sync.WaitGroup
	for i := range tasks {
		a := &watchedTask{subject: newSubject(says(i)), last: make([]history.Stream, readers)}
		for j := range readers {
			dialect := f.dialects[(i+j)%len(f.dialects)]
			a.readers = append(a.readers, &reader{
				fleet: f, subject: a.subject, name: fmt.Sprint("reader ", j), dialect: dialect,
				rng: rand.New(rand.NewPCG(seed, uint64(i*readers+j))), counts: n,
			})
		}
		begun.Add(readers)
		for j, r := range a.readers {
			began := sync.OnceFunc(begun.Done)
			reading.Go(func() {
				defer began()
				a.last[j] = r.readOnce(ctx, j == 0, began)
			})
		}
		all = append(all, a)
	}
	begun.Wait()
	return all, reading.Wait
}

// readOnce reads one stream of a task to its end: the driver sends the message, and all other readers subscribe.
func (r *reader) readOnce(ctx context.Context, drives bool, began func()) history.Stream {
	never := func(*history.Event) bool { began(); return false }
	if drives {
		defer r.announce() // end the wait of the watchers, even if the task was not created
		return r.read(ctx, r.message(1), nil, never)
	}
	select {
	case <-r.known:
	case <-ctx.Done():
	}
	if r.id() == "" {
		return history.Stream{}
	}
	// In every dialect, a stream that resumes from the first event stays open while the task waits for input.
	if r.rng.IntN(2) == 0 {
		return r.read(ctx, &client.Request{TaskID: r.id(), After: new(uint64)}, nil, never)
	}
	return r.read(ctx, &client.Request{TaskID: r.id()}, nil, never)
}

// resume resumes one reader. The driver also answers the question of its task.
func (a *watchedTask) resume(ctx context.Context, r *reader, answers bool) {
	if answers && a.script.Turns > 1 {
		r.answer(ctx)
	}
	if after := r.after(); !r.ended && after != nil {
		r.follow(ctx, after, 0)
	} else if !r.ended {
		r.follow(ctx, new(uint64), 0)
	}
	if ctx.Err() != nil {
		a.gaveUp(r.name)
	}
}

// answer sends the message of the second turn until a sidecar accepts it: it may refuse it for now while the task is not its own yet.
func (r *reader) answer(ctx context.Context) {
	for ctx.Err() == nil {
		record := r.read(ctx, r.message(2), nil, func(*history.Event) bool { return false })
		if record.Outcome != history.Unavailable {
			return
		}
		r.backoff(ctx)
	}
}
