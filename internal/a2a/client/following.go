// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

const (
	// retryFirst and retryMost are the first and the longest pause of the backoff between two attempts to send a message
	// or to resume a stream.
	retryFirst = 500 * time.Millisecond
	retryMost  = 10 * time.Second
	// maxFailures is the number of failed attempts in a row, without an event, after which a Following gives up.
	maxFailures = 8
	// maxPollBackoff bounds the time between two polls, as a multiple of the first one.
	maxPollBackoff = 8
)

// NextPoll returns the pause between polls that follows pause. Each pause is 1.5 times the previous one, and at most 8
// times the first one.
func NextPoll(pause, first time.Duration) time.Duration {
	return min(pause+pause/2, maxPollBackoff*first)
}

// Following follows a task until it has ended or waits for its client. It reads a stream, and resumes the stream when
// it breaks. If the agent has no streams, it polls. Client, PollInterval and Observe are required. It is used once, by
// one goroutine.
type Following struct {
	Client *Client
	// PollInterval is the time between the first two polls. Later pauses grow to at most eight times this value.
	PollInterval time.Duration
	// HistoryLength bounds the history of polled tasks; nil means all of it.
	HistoryLength *int
	// Attempts is how often a message, or the first subscription, is sent while the agent does not answer it: it is busy,
	// or the connection breaks before the first event. Agents recognize a repeated message. 0 means 1.
	Attempts int
	// Earlier is called with the task before Send continues it, so that the caller can tell new output from earlier output.
	// If it returns an error, Send returns this error. It may be nil.
	Earlier func(*Event) error
	// NeedsEarlier makes Send fail if the agent does not return the task. Otherwise, Send then goes on without Earlier.
	NeedsEarlier bool
	// Observe is called for each event in order. If it returns an error, Send or Task returns this error.
	Observe func(*Event) error
	// Resuming is called with the error of a stream that broke, before the Following resumes the stream. It may be nil.
	Resuming func(cause error)

	taskID, lastID string
	state          a2a.State
	// answered is true after the first event. message is true if the agent answered with a message instead of a task.
	// accepted is true if the agent may have accepted the message.
	answered, message, accepted bool
	// failed is the error that Observe returned.
	failed error
}

// Send sends a message and follows its task. It returns nil when the task has ended or waits for its client, or when
// the agent has answered with a message.
func (f *Following) Send(ctx context.Context, r *a2a.SendRequest) error {
	f.taskID = r.Message.TaskID
	if f.taskID != "" && f.Earlier != nil {
		e, err := f.Client.Get(ctx, &a2a.GetRequest{TaskID: f.taskID, HistoryLength: new(0)})
		if err == nil {
			err = f.Earlier(e)
		} else if !f.NeedsEarlier {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return f.begin(ctx, false, func() error {
		err := f.Client.Stream(ctx, r, f.take)
		f.accepted = f.accepted || f.answered || !IsRefused(err)
		return err
	})
}

// Task follows an existing task. The first event is the task, unless lastID names an event that the
// agent still has.
func (f *Following) Task(ctx context.Context, id, lastID string) error {
	f.taskID = id
	f.lastID = lastID
	if !f.Client.Endpoint().Resubscribes || !f.Client.Endpoint().Streams() {
		return f.poll(ctx)
	}
	return f.begin(ctx, true, func() error { return f.subscribe(ctx) })
}

// TaskID returns the id of the task, "" while it is unknown.
func (f *Following) TaskID() string { return f.taskID }

// State returns the last state of the task.
func (f *Following) State() a2a.State { return f.state }

// MayBeAccepted reports whether the agent may have accepted the message of Send. It returns false if the agent has
// refused every attempt to send it.
func (f *Following) MayBeAccepted() bool { return f.accepted }

func (f *Following) subscribe(ctx context.Context) error {
	return f.Client.Subscribe(ctx, &a2a.SubscribeRequest{TaskID: f.taskID, HistoryLength: f.HistoryLength}, f.lastID, f.take)
}

// begin sends the first request until the agent answers, and follows the task. polls is true to poll the task if the
// agent refuses the request.
func (f *Following) begin(ctx context.Context, polls bool, send func() error) error {
	pause := retryFirst
	for attempts := 1; ; attempts++ {
		err := send()
		switch {
		case f.done():
			return f.failed
		case f.answered && f.taskID != "" && !isFinal(err):
			return f.resume(ctx, err)
		case f.answered:
			return f.incomplete(ctx, err)
		case polls && IsUnsupported(err):
			return f.poll(ctx) // agents refuse to stream a task that has ended
		case attempts >= f.Attempts || !mayRepeat(err):
			return f.incomplete(ctx, err)
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return context.Cause(ctx)
		}
		pause = min(2*pause, retryMost)
	}
}

// mayRepeat reports whether a request that returned no event is sent again. err is its error: a failure of the
// connection, a transient refusal, or nil for an empty answer.
func mayRepeat(err error) bool {
	if IsRefused(err) {
		return !isFinal(err)
	}
	failure, ok := errors.AsType[*backend.TurnError](err)
	return err == nil || ok && failure.Interrupted
}

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
	f.lastID = cmp.Or(e.ID, f.lastID)
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
	f.taskID = cmp.Or(id, f.taskID)
}

// incomplete returns the error for an answer that ended before the task ended or waited: err, or ErrIncomplete if err is
// nil.
func (f *Following) incomplete(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return f.Client.explain(ctx, ErrIncomplete)
}

// resume continues to follow a task whose stream ended early with err.
func (f *Following) resume(ctx context.Context, err error) error {
	failures := 0
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		if ctx.Err() != nil {
			return cmp.Or(err, context.Cause(ctx))
		}
		if !f.Client.Endpoint().Streams() {
			return f.poll(ctx)
		}
		if f.Resuming != nil && err != nil {
			f.Resuming(err)
		}
		if stream.Sleep(ctx, pause) != nil {
			return context.Cause(ctx)
		}
		if !f.Client.Endpoint().Resubscribes {
			return f.poll(ctx)
		}
		f.answered = false
		err = f.subscribe(ctx)
		switch {
		case f.done():
			return f.failed
		case IsUnsupported(err):
			return f.poll(ctx) // the task has ended in the meantime, or the agent cannot resume a stream
		case f.answered:
			failures = 0
			pause = retryFirst
		case isFinal(err):
			return err
		default:
			failures++
			if failures >= maxFailures {
				return f.incomplete(ctx, err)
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
		e, err := f.Client.Get(ctx, &a2a.GetRequest{TaskID: f.taskID, HistoryLength: f.HistoryLength})
		switch {
		case err == nil:
			failures = 0
			if before := f.state; !reported || e.Task.Status.State != before {
				reported = true
				if f.take(e) != nil {
					return f.failed
				}
			}
		case isFinal(err), errors.Is(err, ErrTooLarge), isUnreadable(err):
			return err
		default:
			failures++
			if failures >= maxFailures || ctx.Err() != nil {
				return err
			}
		}
		if stream.Sleep(ctx, pause) != nil {
			return context.Cause(ctx)
		}
	}
}
