// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// follower follows one task.
type follower struct {
	*Call
	client *Client

	// taskID is "" until the agent has named the task. named is then true, and left is true
	// once the caller has left.
	taskID      string
	named, left atomic.Bool
	state       a2a.State
	// message is the answer of an agent that made no task.
	message *a2a.Message
	// answered is true once the agent has sent an event.
	answered bool
	seen     seen
}

func newFollower(c *Client, call *Call) *follower {
	f := &follower{client: c, Call: call, taskID: call.TaskID}
	if call.Message != nil {
		f.taskID = call.Message.TaskID
	}
	f.named.Store(f.taskID != "")
	return f
}

// failed returns the task as its events show it, or the error if there was none.
func (f *follower) failed(err error) (*Result, error) {
	problem := explain(err)
	if task := f.seen.result(); task != nil {
		return &Result{Task: task, Failure: problem, Truncated: f.seen.truncated}, nil
	}
	return nil, problem
}

// errLeft ends a stream whose caller has left.
var errLeft = errors.New("caller has left")

// leave ends the call when the caller leaves: at once, or, if the task has no name yet, with
// its first event.
func (f *follower) leave(cause error, stop context.CancelCauseFunc) {
	f.left.Store(true)
	if f.Message == nil || f.named.Load() {
		stop(cause)
		return
	}
	time.AfterFunc(cancelTimeout, func() { stop(cause) })
}

// errNoEvent is the failure of streams that ended before their first event.
var errNoEvent = errors.New("the answer has no event")

// settled reports whether nothing more is to come.
func (f *follower) settled() bool {
	return f.message != nil || f.state.Terminal() || f.state.Interrupted()
}

// follow sends the message and stays until the task has ended or waits.
func (f *follower) follow(ctx context.Context) error {
	op := methodSubscribe
	if f.Message != nil {
		op = methodStream
	}
	sends, failures := 1, 0
	for pause := pollFirst; ; pause = min(2*pause, pollMost) {
		err := f.call(ctx, op)
		problem, refused := errors.AsType[*a2a.Error](err)
		switch {
		case ctx.Err() != nil, f.left.Load():
			return errors.Join(err, context.Cause(ctx))
		case f.settled():
			return nil // err is errSettled
		case op == methodStream && !f.answered && refused && problem.Reason == a2a.ReasonUnsupportedOperation:
			op = methodSend // the agent does not stream
			continue
		case op != methodSubscribe && !f.answered:
			if sends++; sends > maxSends || !mayRepeat(err) {
				return cmp.Or(err, errNoEvent)
			}
		default:
			done, readErr := f.poll(ctx)
			if done {
				return readErr
			}
			if readErr == nil {
				failures = 0
			} else if failures++; failures > maxFailures {
				return readErr
			}
			op = methodSubscribe
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return err //nolint:wrapcheck // it is the cause of the end
		}
	}
}

// interrupted reports whether an error is that of a connection, and not of the agent. The end
// of a stream without an event counts.
func interrupted(err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	return err == nil || ok && failure.Interrupted
}

// mayRepeat reports whether a message that ended with an error, and without an event, is sent
// again.
func mayRepeat(err error) bool {
	if problem, refused := errors.AsType[*a2a.Error](err); refused {
		return transient(problem)
	}
	return interrupted(err)
}

// transient reports whether the same request may succeed soon.
func transient(problem *a2a.Error) bool {
	return problem.Reason == a2a.ReasonUnavailable || problem.Reason == a2a.ReasonResourceExhausted
}

// readWithRetry reads the task at its end.
func (f *follower) readWithRetry(ctx context.Context) (*a2a.Task, error) {
	pause := pollFirst
	for reads := 1; ; reads++ {
		task, err := f.read(ctx)
		problem, refused := errors.AsType[*a2a.Error](err)
		if err == nil || reads == maxReads || refused && !transient(problem) {
			return task, err
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return nil, err //nolint:wrapcheck // it is the cause of the end
		}
		pause = min(2*pause, pollMost)
	}
}

// poll reads the state of the task. It reports whether the call is done: the task has ended or
// waits, or the agent does not know it.
func (f *follower) poll(ctx context.Context) (done bool, err error) {
	if f.taskID == "" {
		return true, &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The agent's answer broke off and names no task; try again"}
	}
	task, err := f.read(ctx)
	if problem, ok := errors.AsType[*a2a.Error](err); ok && !transient(problem) {
		return true, err
	}
	if err != nil {
		return false, err
	}
	f.state = task.Status.State
	f.fold(ctx, &a2a.Event{Task: task})
	return f.settled(), nil
}

// fold adds an event to the task that the caller gets if the task cannot be read.
func (f *follower) fold(ctx context.Context, e *a2a.Event) {
	f.seen.charge = func(bytes int64) bool {
		memory := f.client.options.Memory
		return memory.Grow(ctx, f.Reservation, accounting, min(bytes, memory.Largest()))
	}
	f.seen.apply(e)
}

// event takes one event of a stream.
func (f *follower) event(ctx context.Context, e *a2a.Event) error {
	f.answered = true
	f.fold(ctx, e)
	id := ""
	switch {
	case e.Task != nil:
		id, f.state = e.Task.ID, e.Task.Status.State
	case e.Status != nil:
		id, f.state = e.Status.TaskID, e.Status.Status.State
	case e.Artifact != nil:
		id = e.Artifact.TaskID
	case e.Message != nil:
		f.message = e.Message
	}
	if f.taskID == "" && id != "" {
		f.taskID = id
	}
	if f.taskID != "" {
		f.named.Store(true)
	}
	if f.left.Load() {
		return errLeft
	}
	if f.Observe != nil {
		f.Observe(e)
	}
	return nil
}
