// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

const (
	// resumeFirst and resumeMost bound the backoff between two attempts to resume a stream.
	resumeFirst = 500 * time.Millisecond
	resumeMost  = 10 * time.Second
	// maxFailures is how many attempts without an event may fail in a row.
	maxFailures = 8
)

// maxPollBackoff bounds the time between two polls, as a multiple of the first one.
const maxPollBackoff = 8

// NextPoll returns the pause after a pause between two polls, of which first was the first one: half as
// long again, up to eight times the first.
func NextPoll(pause, first time.Duration) time.Duration {
	return min(pause+pause/2, maxPollBackoff*first)
}

// Following follows a task until it has ended or waits for its client: by a stream, which it
// resumes when it breaks, and by polling where the agent has no streams.
type Following struct {
	Client *Client
	// PollInterval is the time between the first two polls. It grows up to eight times.
	PollInterval time.Duration
	// Observe is called for each event in order. Its error ends the following.
	Observe func(*Event) error
	// Resuming is called when a stream broke and is resumed. Nil is for none.
	Resuming func(cause error)

	taskID, contextID, lastID string
	state                     a2a.State
	// answered is true once there was an event, and message if it was the agent's answer
	// without a task.
	answered, message bool
}

// Send sends a message and follows its task.
func (f *Following) Send(ctx context.Context, r *a2a.SendRequest) error {
	f.taskID = r.Message.TaskID
	if f.Client.card.Capabilities.Streaming {
		err := f.Client.Stream(ctx, r, f.take)
		if f.settled() {
			return ended(err)
		}
		switch {
		case f.answered && f.taskID != "" && !IsReported(err):
			return f.resume(ctx, err)
		case f.answered || !IsUnsupported(err):
			return f.incomplete(err)
		}
	}
	e, err := f.Client.Send(ctx, r)
	if err == nil {
		err = f.take(e)
	}
	if f.settled() {
		return ended(err)
	}
	if err != nil {
		return err
	}
	return f.poll(ctx)
}

// Task follows an existing task. The first event is the task, unless lastID names an event that the
// agent still has.
func (f *Following) Task(ctx context.Context, id, lastID string) error {
	f.taskID, f.lastID = id, lastID
	if !f.Client.endpoint.subscribes || !f.Client.card.Capabilities.Streaming {
		return f.poll(ctx)
	}
	err := f.Client.Subscribe(ctx, id, lastID, f.take)
	switch {
	case f.settled():
		return ended(err)
	case IsUnsupported(err) && !f.answered:
		return f.poll(ctx) // agents refuse to stream a task that has ended
	case err != nil && !f.answered:
		return err
	default:
		return f.resume(ctx, err)
	}
}

// TaskID and ContextID return the ids of the task, "" while they are unknown.
func (f *Following) TaskID() string { return f.taskID }

// ContextID returns the id of the context, "" while it is unknown.
func (f *Following) ContextID() string { return f.contextID }

// State returns the last state of the task.
func (f *Following) State() a2a.State { return f.state }

// settled reports whether nothing more is to come.
func (f *Following) settled() bool { return f.message || f.state.Terminal() || f.state.Interrupted() }

// errEnd ends a stream after the event that ends the task: some agents do not close it.
var errEnd = errors.New("task has ended or waits")

// observeError is an error of Observe, which ends the following.
type observeError struct{ error }

// Unwrap returns the error of Observe.
func (e *observeError) Unwrap() error { return e.error }

// isObserved reports whether an error is one of Observe.
func isObserved(err error) bool {
	_, ok := errors.AsType[*observeError](err)
	return ok
}

// ended returns the error of a task that has ended or waits: only one of Observe counts.
func ended(err error) error {
	if isObserved(err) {
		return err
	}
	return nil
}

// take takes an event.
func (f *Following) take(e *Event) error {
	f.answered = true
	if e.ID != "" {
		f.lastID = e.ID
	}
	f.note(e)
	if err := f.Observe(e); err != nil {
		return &observeError{err}
	}
	if f.settled() {
		return errEnd
	}
	return nil
}

// note keeps the ids and the state of an event.
func (f *Following) note(e *Event) {
	set := func(task, contextID string) {
		if task != "" {
			f.taskID = task
		}
		if contextID != "" {
			f.contextID = contextID
		}
	}
	switch {
	case e.Task != nil:
		set(e.Task.ID, e.Task.ContextID)
		f.state = e.Task.Status.State
	case e.Status != nil:
		set(e.Status.TaskID, e.Status.ContextID)
		f.state = e.Status.Status.State
	case e.Artifact != nil:
		set(e.Artifact.TaskID, e.Artifact.ContextID)
	case e.Message != nil:
		set(e.Message.TaskID, e.Message.ContextID)
		f.message = true
	}
}

// incomplete is the error of a stream that ended without a task.
func (f *Following) incomplete(err error) error {
	if err != nil {
		return err
	}
	return failure.New(failure.OfReason(a2a.ReasonInvalidAgentResponse), "the stream of the agent ended without a result").
		WithHint("repeat the message")
}

// resume follows a task whose stream ended with err.
func (f *Following) resume(ctx context.Context, err error) error {
	failures := 0
	for pause := resumeFirst; ; pause = min(2*pause, resumeMost) {
		if isObserved(err) || ctx.Err() != nil {
			return err
		}
		if f.Resuming != nil {
			f.Resuming(err)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		if !f.Client.endpoint.subscribes {
			return f.poll(ctx)
		}
		f.answered = false
		err = f.Client.Subscribe(ctx, f.taskID, f.lastID, f.take)
		switch {
		case f.settled():
			return ended(err)
		case IsUnsupported(err):
			return f.poll(ctx) // the task has ended meanwhile, or the agent cannot resume
		case f.answered:
			failures, pause = 0, resumeFirst
		case IsReported(err) && failure.Of(err).Code != failure.Internal:
			return err
		default:
			if failures++; failures >= maxFailures {
				return f.incomplete(err)
			}
		}
	}
}

// poll reads the task until it has ended or waits. It reports the task when its state changes.
func (f *Following) poll(ctx context.Context) error {
	failures, reported := 0, false
	for pause := f.PollInterval; ; pause = NextPoll(pause, f.PollInterval) {
		e, err := f.Client.Task(ctx, f.taskID, nil)
		switch {
		case err == nil:
			failures = 0
			if before := f.state; !reported || e.Task.Status.State != before {
				reported = true
				if err := f.take(e); err != nil {
					return ended(err)
				}
			}
		case IsReported(err) && failure.Of(err).Code != failure.Internal:
			return err
		default:
			if failures++; failures >= maxFailures || ctx.Err() != nil {
				return err
			}
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx) //nolint:wrapcheck // it is a failure, or the user's interrupt
	}
}
