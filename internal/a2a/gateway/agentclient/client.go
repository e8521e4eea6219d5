// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentclient calls agents through the gateway, for the endpoints that the gateway
// itself serves. It sends one message and follows the task until the task has ended or waits
// for its client. It speaks 1.0 over JSON-RPC, which every sidecar and the translator serve.
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

const (
	// firstTimeout bounds the time until an agent answers a request. A message may wait in the
	// queue of the agent.
	firstTimeout = time.Minute
	// idleTimeout bounds the silence of a stream. Sidecars send a comment every 15 s.
	idleTimeout = time.Minute
	// maxEvent bounds one event, and maxTask the final task, in bytes.
	maxEvent = 5 << 20
	maxTask  = 16 << 20
	// maxStream bounds the bytes of one stream. A longer one is followed by another.
	maxStream = 64 << 20
	// cancelTimeout bounds a cancel, and the wait for the id of a task that is to be canceled.
	cancelTimeout = 5 * time.Second
	// maxSends is how often a message is sent that met a busy or unready agent, or whose stream
	// broke before its first event. The agent recognizes a repeated message. maxReads is how
	// often the task is read at the end.
	maxSends = 3
	maxReads = 3
	// maxFailures is how many reads of a task may fail in a row.
	maxFailures = 5
	// pollFirst and pollMost bound the backoff between two requests for a task.
	pollFirst = 500 * time.Millisecond
	pollMost  = 5 * time.Second
)

// Options configure a Client. All fields are required.
type Options struct {
	// Gateway sends requests to the gateway.
	Gateway http.RoundTripper
	// Memory is charged for tasks that are read.
	Memory *limit.Budget
	// MaxWait bounds the time for which a task is followed.
	MaxWait time.Duration
	Now     func() time.Time
}

// Client calls agents. It is safe for concurrent use.
type Client struct {
	options Options
	stream  *stream.Client
}

// New returns a client.
func New(o Options) *Client {
	return &Client{options: o, stream: stream.NewWithTransport(gateway{o.Gateway}, stream.Limits{
		Connect: firstTimeout, FirstEvent: firstTimeout, Idle: idleTimeout, Turn: o.MaxWait + time.Minute, MaxEvent: maxEvent, MaxAnswer: maxStream,
	}, o.Now)}
}

// Call is a message to an agent, or the wait for a task.
type Call struct {
	// URL is the base of the agent through the gateway, with a slash at its end.
	URL string
	// Header is added to each request.
	Header http.Header
	// Message is the message to send; nil waits for the task only.
	Message *a2a.Message
	// TaskID is the task to wait for if there is no message.
	TaskID string
	// Observe is called for each event in order, from one goroutine at a time.
	Observe func(*a2a.Event)
	// Reservation holds the memory of the result. The caller releases it.
	Reservation *limit.Reservation
}

// Result is a task that has ended or waits, a task that still runs after Options.MaxWait, or
// a message without a task. Either Task or Message is set.
type Result struct {
	Task    *a2a.Task
	Message *a2a.Message
	// Failure is why the task could not be followed or read to its end; nil if it could. Task
	// then has what the events of the agent had, and Truncated is true if some of that is
	// missing.
	Failure   *a2a.Error
	Truncated bool
}

// errWaited ends a call whose task still runs.
var errWaited = errors.New("task still runs")

// Read returns the task of a call as it is now. Its errors are *a2a.Error, and the cause of the
// end of ctx.
func (c *Client) Read(ctx context.Context, call *Call) (*a2a.Task, error) {
	task, err := newFollower(c, call).read(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, explain(err)
	}
	return task, nil
}

// Do calls an agent. When ctx ends, it cancels a task to which it has sent a message. Its
// errors are *a2a.Error with a text for the caller, and the cause of the end of ctx. There is
// no error once the agent has sent an event of the task.
func (c *Client) Do(ctx context.Context, call *Call) (*Result, error) {
	f := newFollower(c, call)
	// The call outlives ctx until the id of its task is known, without which the task
	// cannot be canceled.
	inner, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { f.leave(context.Cause(ctx), stop) })()
	waited := time.AfterFunc(c.options.MaxWait, func() { stop(errWaited) })
	defer waited.Stop()

	err := f.follow(inner)
	if ctx.Err() != nil {
		if call.Message != nil && !f.state.Terminal() {
			f.cancel(context.WithoutCancel(ctx))
		}
		return nil, context.Cause(ctx)
	}
	if f.message != nil {
		return &Result{Message: f.message}, nil
	}
	if errors.Is(context.Cause(inner), errWaited) && f.taskID != "" {
		inner, err = context.WithoutCancel(ctx), nil
	}
	if err != nil {
		return f.failed(err)
	}
	task, err := f.readWithRetry(inner)
	if err != nil {
		return f.failed(err)
	}
	return &Result{Task: task}, nil
}

// explain returns the error for the caller.
func explain(err error) *a2a.Error {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return problem
	}
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: failure.Reason + "; try again"}
	}
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The connection to the agent broke; try again"}
}
