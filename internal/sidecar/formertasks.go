// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// formerTasks implements a2a.Handler for a sidecar with a memory store. If a task is not
// found and began before the sidecar started, it explains to the client that the task is
// in the memory of another pod, which may still run it. It reads the start of a task from
// the task's id.
type formerTasks struct {
	a2a.Handler
	// started is when this process started.
	started time.Time
}

// explain adds the explanation to the error of an operation on a task, if the task began
// before this process started.
func (f *formerTasks) explain(err error) error {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok || problem.Reason != a2a.ReasonTaskNotFound || !madeBefore(problem.TaskID, f.started) {
		return err
	}
	explained := *problem
	explained.Message = "Task not found: it began before this replica started, and tasks are kept in memory. " +
		"Streams that are already open at its former replica show it until that replica has shut down"
	return &explained
}

// madeBefore reports whether task is an id of the engine, a UUID of version 7, from
// before at.
func madeBefore(task string, at time.Time) bool {
	id, err := uuid.Parse(task)
	if err != nil || id.Version() != 7 {
		return false
	}
	seconds, nanoseconds := id.Time().UnixTime()
	return time.Unix(seconds, nanoseconds).Before(at.Truncate(time.Millisecond))
}

// Send implements a2a.Handler.
func (f *formerTasks) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	e, err := f.Handler.Send(ctx, r)
	return e, f.explain(err)
}

// Stream implements a2a.Handler.
func (f *formerTasks) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	s, err := f.Handler.Stream(ctx, r)
	return s, f.explain(err)
}

// Get implements a2a.Handler.
func (f *formerTasks) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	t, err := f.Handler.Get(ctx, r)
	return t, f.explain(err)
}

// Cancel implements a2a.Handler.
func (f *formerTasks) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	t, err := f.Handler.Cancel(ctx, r)
	return t, f.explain(err)
}

// Subscribe implements a2a.Handler.
func (f *formerTasks) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	s, err := f.Handler.Subscribe(ctx, r)
	return s, f.explain(err)
}
