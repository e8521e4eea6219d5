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

const (
	// maxSends is the maximum number of times that a message is sent. It is sent again if the
	// agent is busy or not ready, or if the stream breaks before its first event. The agent
	// recognizes a repeated message (deduplication). maxReads is the maximum number of reads of
	// the final task.
	maxSends = 3
	maxReads = 3
	// maxFailures is the number of consecutive reads of a task that may fail.
	maxFailures = 5
	// pollFirst and pollMost are the first and the longest wait of the backoff between requests
	// for a task.
	pollFirst = 500 * time.Millisecond
	pollMost  = 5 * time.Second
)

// follower follows the task of one call.
type follower struct {
	agent   *agent
	observe func(*a2a.Event)

	// taskID is the id of the task, "" while it is not known. If the call names no task, an
	// event of the agent has the id. named is true once taskID is known. left is true once the
	// context of the caller has ended.
	taskID      string
	named, left atomic.Bool
	state       a2a.State
	// reply is the response of an agent that created no task.
	reply *a2a.Message
	// answered is true once the agent has sent an event. mayHaveMessage is true once the agent may
	// have accepted the message: an attempt to send it has ended without an answer.
	answered, mayHaveMessage bool
	composed                 composedTask
	// hurried is true once Call.Wait is over, and begun once the agent has responded with a task. When both
	// are true, stop ends the call. It is nil without a Call.Wait.
	hurried, begun atomic.Bool
	stop           func()
}

// hurry ends the call as soon as the agent has responded with a task.
func (f *follower) hurry() {
	f.hurried.Store(true)
	if f.begun.Load() {
		f.stop()
	}
}

// errLeft is the error with which follower.event ends a stream after the ctx of the
// caller has ended.
var errLeft = errors.New("caller has left")

// leave ends the call because the ctx of the caller has ended. If the id of the task is
// known, or the call has no message, leave ends the call at once. Otherwise, the call ends
// with the next event, after cancelTimeout at the latest.
func (f *follower) leave(cause error, stop context.CancelCauseFunc) {
	f.left.Store(true)
	if f.agent.message == nil || f.named.Load() {
		stop(cause)
		return
	}
	time.AfterFunc(cancelTimeout, func() { stop(cause) })
}

// errHasResult is the error with which follower.event ends a stream when the task has ended
// or waits for its client.
var errHasResult = errors.New("task has ended or waits")

// errNoEvent is the error for streams that ended before their first event.
var errNoEvent = errors.New("the answer has no event")

// hasResult reports whether the call has its result: a message, or a task that has ended or
// waits for its client.
func (f *follower) hasResult() bool {
	return f.reply != nil || f.state.Terminal() || f.state.Interrupted()
}

// follow sends the message, or only subscribes to the task if the call has no message. It
// returns nil when the task has ended or waits for its client, or when the agent has
// responded with a message.
func (f *follower) follow(ctx context.Context) error {
	op := methodSubscribe
	if f.agent.message != nil {
		op = methodStream
	}
	sends := 1
	failures := 0
	for pause := pollFirst; ; pause = min(2*pause, pollMost) {
		err := f.agent.call(ctx, op, f.taskID, func(e *a2a.Event) error { return f.event(ctx, e) })
		problem, refused := errors.AsType[*a2a.Error](err)
		f.noteSent(op, refused)
		switch {
		case ctx.Err() != nil, f.left.Load():
			return errors.Join(err, context.Cause(ctx))
		case f.hasResult():
			return nil // err is errHasResult, which is not a failure
		case op == methodStream && !f.answered && refused && problem.Reason == a2a.ReasonUnsupportedOperation:
			op = methodSend // the agent does not stream
			continue
		case op != methodSubscribe && !f.answered:
			sends++
			if sends > maxSends || !mayRepeat(err) {
				return cmp.Or(err, errNoEvent)
			}
		default:
			done, readErr := f.poll(ctx)
			if done {
				return readErr
			}
			failures++
			if readErr == nil {
				failures = 0
			}
			if failures > maxFailures {
				return readErr
			}
			op = methodSubscribe
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// noteSent records after a request whether the agent may have accepted the message. refused is true
// if the agent, or the gateway, has refused the request.
func (f *follower) noteSent(op string, refused bool) {
	f.mayHaveMessage = f.mayHaveMessage || op != methodSubscribe && (f.answered || !refused)
}

// mayRepeat reports whether a message is sent again after a call that returned no event. err
// is the error of the call. The message is sent again after a failure of the connection, an
// empty response (err is nil), or a transient refusal.
func mayRepeat(err error) bool {
	if problem, refused := errors.AsType[*a2a.Error](err); refused {
		return transient(problem)
	}
	failure, ok := errors.AsType[*backend.TurnError](err)
	return err == nil || ok && failure.Interrupted
}

// transient reports whether the same request may succeed if it is sent again soon.
func transient(problem *a2a.Error) bool {
	return problem.Reason == a2a.ReasonUnavailable || problem.Reason == a2a.ReasonResourceExhausted
}

// read reads the task.
func (f *follower) read(ctx context.Context) (*a2a.Task, error) {
	return f.agent.read(ctx, f.taskID, f.composed.charged)
}

// readWithRetry reads the final task. It repeats transient failures up to maxReads reads in
// all.
func (f *follower) readWithRetry(ctx context.Context) (*a2a.Task, error) {
	pause := pollFirst
	for reads := 1; ; reads++ {
		task, err := f.read(ctx)
		problem, refused := errors.AsType[*a2a.Error](err)
		if err == nil || reads == maxReads || refused && !transient(problem) {
			return task, err
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, pollMost)
	}
}

// poll reads the task and stores its state. done is true if the call has ended: the task has
// ended or waits for its client, or the agent refuses the read for a reason that is not
// transient.
func (f *follower) poll(ctx context.Context) (done bool, err error) {
	if f.taskID == "" {
		return true, &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The agent's answer broke off and names no task"}
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
	return f.hasResult(), nil
}

// fold adds an event to composed, from which the result is composed if the task cannot be read.
func (f *follower) fold(ctx context.Context, e *a2a.Event) {
	f.composed.charge = func(bytes int64) bool { return f.agent.reserve(ctx, bytes) }
	f.composed.apply(e)
}

// event processes one event of a response. It returns errLeft if the ctx of the caller
// has ended, errHasResult if the call has its result, and else nil.
func (f *follower) event(ctx context.Context, e *a2a.Event) error {
	f.answered = true
	f.fold(ctx, e)
	id := ""
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
		f.reply = e.Message
	}
	f.taskID = cmp.Or(f.taskID, id)
	f.named.Store(f.taskID != "")
	if f.taskID != "" {
		f.begun.Store(true)
		if f.hurried.Load() {
			f.stop()
		}
	}
	if f.left.Load() {
		return errLeft
	}
	if f.observe != nil {
		f.observe(e)
	}
	if f.hasResult() {
		return errHasResult
	}
	return nil
}
