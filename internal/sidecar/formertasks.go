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

// formerTasks tells clients of a sidecar that keeps tasks in its memory why a task
// is not found that began before the sidecar started: the pod that ran it, and may
// run it still, has taken it along. Ids of tasks hold the time at which they were
// made. It implements a2a.Handler.
type formerTasks struct {
	a2a.Handler
	// began is when this process started.
	began time.Time
}

// explain returns the error of an operation on a task.
func (f *formerTasks) explain(err error) error {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok || problem.Reason != a2a.ReasonTaskNotFound || !madeBefore(problem.TaskID, f.began) {
		return err
	}
	told := *problem
	told.Message = "Task not found: it began before this replica started, and tasks are kept in memory. " +
		"It can be followed on the streams that the replica that runs it has open until that has shut down"
	return &told
}

// madeBefore reports whether an id was made by an engine before a moment.
func madeBefore(task string, moment time.Time) bool {
	id, err := uuid.Parse(task)
	if err != nil || id.Version() != 7 {
		return false
	}
	seconds, nanoseconds := id.Time().UnixTime()
	return time.Unix(seconds, nanoseconds).Before(moment.Truncate(time.Millisecond))
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
