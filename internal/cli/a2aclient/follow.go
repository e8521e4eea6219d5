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
	// resumeFirst and resumeMost are the first and the longest pause of the backoff between two attempts to resume a stream.
	resumeFirst = 500 * time.Millisecond
	resumeMost  = 10 * time.Second
	// maxFailures is the number of failed attempts in a row, without an event, after which the client gives up.
	maxFailures = 8
)

// maxPollBackoff bounds the time between two polls, as a multiple of the first one.
const maxPollBackoff = 8

// NextPoll returns the pause between polls that follows pause. Each pause is 1.5 times the previous one, and at most 8
// times the first one.
func NextPoll(pause, first time.Duration) time.Duration {
	return min(pause+pause/2, maxPollBackoff*first)
}

// Following follows a task until it has ended or waits for its client. It reads a stream, and resumes the stream when
// it breaks. If the agent has no streams, it polls.
type Following struct {
	Client *Client
	// PollInterval is the time between the first two polls. Later pauses grow to at most eight times this value.
	PollInterval time.Duration
	// Earlier is called with the task before Send continues it, so that the caller can tell new output from earlier output.
	// If it returns an error, Send returns this error. It may be nil.
	Earlier func(*Event) error
	// NeedsEarlier makes Send fail if the agent does not return the task. Otherwise, Send then goes on without Earlier.
	NeedsEarlier bool
	// Observe is called for each event in order. If it returns an error, Send or Task returns this error.
	Observe func(*Event) error
	// Resuming is called with the error of a stream that broke, before the client resumes the stream. It may be nil.
	Resuming func(cause error)

	taskID, lastID string
	state          a2a.State
	// answered is true after the first event. message is true if the agent answered with a message instead of a task.
	answered, message bool
	// failed is the error that Observe returned.
	failed error
}

// Send sends a message and follows its task.
func (f *Following) Send(ctx context.Context, r *a2a.SendRequest) error {
	f.taskID = r.Message.TaskID
	if f.taskID != "" && f.Earlier != nil {
		e, err := f.Client.Task(ctx, f.taskID, new(0))
		if err == nil {
			err = f.Earlier(e)
		} else if !f.NeedsEarlier {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	if f.Client.card.Capabilities.Streaming {
		err := f.Client.Stream(ctx, r, f.take)
		if f.done() {
			return f.failed
		}
		switch {
		case f.answered && f.taskID != "" && !IsReported(err):
			return f.resume(ctx, err)
		case f.answered || !IsUnsupported(err):
			return incomplete(err)
		}
	}
	e, err := f.Client.Send(ctx, r)
	if err != nil {
		return err
	}
	if f.take(e) != nil {
		return f.failed
	}
	return f.poll(ctx)
}

// Task follows an existing task. The first event is the task, unless lastID names an event that the
// agent still has.
func (f *Following) Task(ctx context.Context, id, lastID string) error {
	f.taskID = id
	f.lastID = lastID
	if !f.Client.endpoint.Resubscribes || !f.Client.card.Capabilities.Streaming {
		return f.poll(ctx)
	}
	err := f.Client.Subscribe(ctx, id, lastID, f.take)
	switch {
	case f.done():
		return f.failed
	case IsUnsupported(err) && !f.answered:
		return f.poll(ctx) // agents refuse to stream a task that has ended
	case err != nil && !f.answered:
		return err
	default:
		return f.resume(ctx, err)
	}
}

// TaskID returns the id of the task, "" while it is unknown.
func (f *Following) TaskID() string { return f.taskID }

// State returns the last state of the task.
func (f *Following) State() a2a.State { return f.state }

// isFinished reports whether no further event is expected.
func (f *Following) isFinished() bool {
	return f.message || f.state.Terminal() || f.state.Interrupted()
}

// errEnd ends a stream after its last event, because some agents do not close the stream when the task has ended or waits.
var errEnd = errors.New("no further event is expected")

// done reports whether Observe returned an error, or no further event is expected. The result of Send or Task is then
// f.failed.
func (f *Following) done() bool { return f.failed != nil || f.isFinished() }

// take records an event and passes it to Observe. It returns errEnd if f is done.
func (f *Following) take(e *Event) error {
	f.answered = true
	if e.ID != "" {
		f.lastID = e.ID
	}
	f.note(e)
	f.failed = f.Observe(e)
	if f.done() {
		return errEnd
	}
	return nil
}

// note stores the task id and the state of an event in f.
func (f *Following) note(e *Event) {
	var id string
	switch {
	case e.Task != nil:
		id = e.Task.ID
		f.state = e.Task.Status.State
	case e.Status != nil:
		id = e.Status.TaskID
		f.state = e.Status.Status.State
	case e.Artifact != nil:
		id = e.Artifact.TaskID
	case e.Message != nil:
		id = e.Message.TaskID
		f.message = true
	}
	if id != "" {
		f.taskID = id
	}
}

// incomplete returns the error for a stream that ended before the task ended or waited: err, or a failure if err is nil.
func incomplete(err error) error {
	if err != nil {
		return err
	}
	return failure.New(failure.OfReason(a2a.ReasonInvalidAgentResponse), "the stream of the agent ended without a result").
		WithHint("repeat the message")
}

// resume continues to follow a task whose stream ended early with err.
func (f *Following) resume(ctx context.Context, err error) error {
	failures := 0
	for pause := resumeFirst; ; pause = min(2*pause, resumeMost) {
		if ctx.Err() != nil {
			return err
		}
		if f.Resuming != nil && err != nil {
			f.Resuming(err)
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
		if !f.Client.endpoint.Resubscribes {
			return f.poll(ctx)
		}
		f.answered = false
		err = f.Client.Subscribe(ctx, f.taskID, f.lastID, f.take)
		switch {
		case f.done():
			return f.failed
		case IsUnsupported(err):
			return f.poll(ctx) // the task has ended in the meantime, or the agent cannot resume a stream
		case f.answered:
			failures = 0
			pause = resumeFirst
		case IsReported(err) && failure.Of(err).Code != failure.Internal:
			return err
		default:
			failures++
			if failures >= maxFailures {
				return incomplete(err)
			}
		}
	}
}

// poll reads the task until it has ended or waits. It passes the task to Observe after the first read, and after each
// change of its state.
func (f *Following) poll(ctx context.Context) error {
	failures := 0
	reported := false
	for pause := f.PollInterval; ; pause = NextPoll(pause, f.PollInterval) {
		e, err := f.Client.Task(ctx, f.taskID, nil)
		switch {
		case err == nil:
			failures = 0
			if before := f.state; !reported || e.Task.Status.State != before {
				reported = true
				if f.take(e) != nil {
					return f.failed
				}
			}
		case IsReported(err) && failure.Of(err).Code != failure.Internal:
			return err
		default:
			failures++
			if failures >= maxFailures || ctx.Err() != nil {
				return err
			}
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// Sleep waits for d. If ctx ends during the wait, it returns the cause of the end.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
