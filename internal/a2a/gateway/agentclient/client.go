// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentclient calls agents through the gateway. The endpoints that the gateway itself
// serves use it. It sends one message and follows the task until the task has ended or waits
// for its client. It uses A2A 1.0 over JSON-RPC, which every sidecar and the translator
// serve.
package agentclient

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Options configure a Client. All fields are required.
type Options struct {
	// Gateway sends requests to the gateway.
	Gateway http.RoundTripper
	// Memory is the budget that is charged for the tasks that the client reads.
	Memory *limit.Budget
	// MaxWait bounds the time for which a task is followed.
	MaxWait time.Duration
}

// Client calls agents. It is safe for concurrent use.
type Client struct {
	options Options
	stream  *stream.Client
}

// New returns a client.
func New(o Options) *Client {
	return &Client{options: o, stream: stream.New(gateway{o.Gateway}, stream.Limits{
		Connect: firstTimeout, FirstEvent: firstTimeout, Idle: idleTimeout, Turn: o.MaxWait + time.Minute, MaxEvent: maxEvent, MaxAnswer: maxStream,
	})}
}

// Call is a message to an agent, or the wait for a task.
type Call struct {
	// URL is the base of the agent through the gateway, with a slash at its end.
	URL string
	// Header is added to each request.
	Header http.Header
	// Message is the message to send. If it is nil, the call only waits for the task.
	Message *a2a.Message
	// TaskID is the id of the task to wait for, if Message is nil.
	TaskID string
	// Wait is the time after which the call returns a task that still runs, as soon as the agent has begun
	// to respond. 0 means Options.MaxWait.
	Wait time.Duration
	// Observe is called for each event, in the order of the events and never concurrently.
	Observe func(*a2a.Event)
	// Reservation is the memory of the result. The caller must release it.
	Reservation *limit.Reservation
}

// Result is the result of a call. It is either a Message without a task, or a Task: one that
// has ended, one that waits for its client, or one that still runs after Options.MaxWait.
type Result struct {
	Task    *a2a.Task
	Message *a2a.Message
	// Failure is the reason why the task could not be followed or read to its end, nil if it
	// could. With a Failure, Task is composed of the events that the agent sent, and Truncated
	// is true if a part of them is missing.
	Failure   *a2a.Error
	Truncated bool
}

// follower returns the follower of the task of a call.
func (c *Client) follower(call *Call) *follower {
	f := &follower{observe: call.Observe, taskID: call.TaskID, agent: &agent{
		stream: c.stream, memory: c.options.Memory, url: call.URL, header: call.Header, message: call.Message, reservation: call.Reservation,
	}}
	if call.Message != nil {
		f.taskID = call.Message.TaskID
	}
	f.named.Store(f.taskID != "")
	return f
}

// errWaited is the cause of the end of a call whose task still runs after Options.MaxWait or Call.Wait.
var errWaited = errors.New("task still runs")

// Read returns the present state of a call's task. Its errors are *a2a.Error. If ctx ends,
// the error is the cause of its end.
func (c *Client) Read(ctx context.Context, call *Call) (*a2a.Task, error) {
	task, err := c.follower(call).read(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, explain(err, nil)
	}
	return task, nil
}

// Cancel asks the agent to cancel the task of a call. It returns no error: the task shows whether it was
// canceled.
func (c *Client) Cancel(ctx context.Context, call *Call) {
	c.follower(call).agent.cancel(ctx, call.TaskID)
}

// Do calls an agent and waits for the result. If ctx ends, Do cancels the task that received
// the call's message, and returns the cause of the end of ctx. Its other errors are
// *a2a.Error with a text for the caller. If a failure occurs after the agent has sent an
// event of a task, Do returns the failure in Result.Failure, and no error.
func (c *Client) Do(ctx context.Context, call *Call) (*Result, error) {
	f := c.follower(call)
	// When ctx ends, the call continues until the id of its task is known, because the task
	// cannot be canceled without the id.
	inner, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { f.leave(context.Cause(ctx), stop) })()
	waited := time.AfterFunc(c.options.MaxWait, func() { stop(errWaited) })
	defer waited.Stop()
	if call.Wait > 0 {
		f.stop = func() { stop(errWaited) }
		defer time.AfterFunc(call.Wait, f.hurry).Stop()
	}

	err := f.follow(inner)
	if ctx.Err() != nil {
		if call.Message != nil && !f.state.Terminal() {
			f.agent.cancel(context.WithoutCancel(ctx), f.taskID)
		}
		return nil, context.Cause(ctx)
	}
	if f.reply != nil {
		return &Result{Message: f.reply}, nil
	}
	if errors.Is(context.Cause(inner), errWaited) && f.taskID != "" {
		inner = context.WithoutCancel(ctx)
		err = nil
	}
	if err != nil {
		return failed(f, err)
	}
	task, err := f.readWithRetry(inner)
	if err != nil {
		return failed(f, err)
	}
	return &Result{Task: task}, nil
}

// failed returns a Result with the task as composed of its events, and with err as the
// Failure. If no event of a task has arrived, it returns err as an *a2a.Error instead.
func failed(f *follower, err error) (*Result, error) {
	if task := f.composed.result(); task != nil {
		problem, _ := reasonOf(err)
		return &Result{Task: task, Failure: problem, Truncated: f.composed.truncated}, nil
	}
	return nil, explain(err, f)
}

// reasonOf returns the reason of a failed call. refused is true if the agent has named it.
func reasonOf(err error) (reason *a2a.Error, refused bool) {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return problem, true
	}
	text := "The connection to the agent broke"
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		text = failure.Reason
	}
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: text}, false
}

// explain returns the *a2a.Error for the caller: the one that err wraps, or one with
// ReasonUnavailable.
// explain returns the error of a call for its caller. f is nil for a call that has sent no message. If
// the agent may have accepted the message, the error does not propose to send it again, because the agent
// would do the work twice.
func explain(err error, f *follower) *a2a.Error {
	problem, refused := reasonOf(err)
	var advice string
	switch {
	case f != nil && f.mayHaveMessage && f.taskID != "":
		advice = ". The agent may have accepted the message: do not send it again, but wait for task " + f.taskID + " without a message"
	case f != nil && f.mayHaveMessage:
		advice = ". The agent may have accepted the message and may work on it: do not send it again unless the work may be done twice"
	case !refused:
		advice = "; try again"
	default:
		return problem
	}
	explained := *problem
	explained.Message += advice
	return &explained
}
