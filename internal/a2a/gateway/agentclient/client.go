// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentclient calls agents through the gateway. The endpoints that the gateway itself
// serves use it. It sends one message and follows the task until the task has ended or waits
// for its client. It uses A2A 1.0 over JSON-RPC, which every sidecar and the translator
// serve. Package client makes the calls; this package bounds their time and their memory, and
// composes a result even if the agent is gone.
package agentclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

const (
	// firstTimeout bounds the time until the agent begins to respond to a request. It includes
	// the time that a message waits in the agent's queue.
	firstTimeout = time.Minute
	// idleTimeout is the longest time without a byte in a stream. Sidecars send a comment every
	// 10 s by default.
	idleTimeout = time.Minute
	// maxEvent is the maximum size of one event, and maxTask of the final task, in bytes.
	maxEvent = 5 << 20
	maxTask  = 16 << 20
	// maxStream is the maximum size of one stream, in bytes. If a stream reaches it, another
	// stream continues the task.
	maxStream = 64 << 20
	// cancelTimeout bounds the cancel request. It also bounds the wait for the id of a task that
	// is to be canceled.
	cancelTimeout = 5 * time.Second
	// maxSends is the maximum number of times that a message is sent, and maxReads the maximum
	// number of reads of the final task.
	maxSends = 3
	maxReads = 3
	// pollInterval is the first pause between reads of a task.
	pollInterval = 500 * time.Millisecond
)

// accounting is the principal that is charged for the memory of tasks. There is only one
// caller, the agent's own container.
var accounting = a2a.AccountingPrincipal{Principal: "gateway"}

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

// gateway is the transport of all requests.
type gateway struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. If a response with the status 503 or 429 contains
// a JSON-RPC error, it changes the status to 500. Otherwise, the stream client would retry
// the request for firstTimeout. After a 500, client.Following reads the reason and retries the
// request itself.
func (g gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err // the stream client classifies it
	}
	busy := response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests
	if busy && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		response.StatusCode = http.StatusInternalServerError
	}
	return response, nil
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

// task returns the id of the task that the call names, "" for none.
func (c *Call) task() string {
	if c.Message != nil {
		return c.Message.TaskID
	}
	return c.TaskID
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

// following follows the task of one call.
type following struct {
	client.Following
	call   *Call
	memory *limit.Budget
	// events is the budget of the event that is being read.
	events backend.Memory
	// named is true once the id of the task is known, and left once the context of the caller has ended.
	named, left atomic.Bool
	// reply is the response of an agent that created no task.
	reply    *a2a.Message
	composed composedTask
	// hurried is true once Call.Wait is over, and begun once the agent has responded with a task. When both
	// are true, stop ends the call. It is nil without a Call.Wait.
	hurried, begun atomic.Bool
	stop           func()
}

// follow returns the following of a call. ctx is the context of its requests. The caller must release its events.
func (c *Client) follow(ctx context.Context, call *Call) (*following, error) {
	u, err := url.Parse(call.URL)
	if err != nil {
		return nil, fmt.Errorf("parse URL of the agent: %w", err)
	}
	f := &following{call: call, memory: c.options.Memory, events: backend.Memory{Budget: c.options.Memory, Principal: accounting}}
	f.composed.charge = func(bytes int64) bool { return f.reserve(ctx, bytes) }
	f.named.Store(call.task() != "")
	f.Following = client.Following{
		Client: client.New(client.Options{
			HTTP: c.stream, Endpoint: client.NewEndpoint(client.RPCV10, u, "", true), Header: call.Header, ReturnImmediately: true,
			Reserve: func(bytes int64) error { return f.reserveEvent(ctx, bytes) },
			Admit:   f.admit, AdmitDecoded: f.admitDecoded,
		}),
		PollInterval: pollInterval, HistoryLength: new(0), Attempts: maxSends, Observe: f.event,
	}
	return f, nil
}

// hurry ends the call as soon as the agent has responded with a task.
func (f *following) hurry() {
	f.hurried.Store(true)
	if f.begun.Load() {
		f.stop()
	}
}

// errLeft is the error with which following.event ends a stream after the ctx of the
// caller has ended.
var errLeft = errors.New("caller has left")

// leave ends the call because the ctx of the caller has ended. If the id of the task is
// known, or the call has no message, leave ends the call at once. Otherwise, the call ends
// with the next event, after cancelTimeout at the latest.
func (f *following) leave(cause error, stop context.CancelCauseFunc) {
	f.left.Store(true)
	if f.call.Message == nil || f.named.Load() {
		stop(cause)
		return
	}
	time.AfterFunc(cancelTimeout, func() { stop(cause) })
}

// event processes one event of a response. It returns errLeft if the ctx of the caller has ended.
func (f *following) event(e *client.Event) error {
	f.composed.apply(&e.Event)
	if e.Message != nil {
		f.reply = e.Message
	}
	if f.TaskID() != "" {
		f.named.Store(true)
		f.begun.Store(true)
		if f.hurried.Load() {
			f.stop()
		}
	}
	if f.left.Load() {
		return errLeft
	}
	if f.call.Observe != nil {
		f.call.Observe(&e.Event)
	}
	return nil
}

// reserveEvent changes the reservation for the event that is being read to a total of bytes. One of the largest size reserves no more
// than the budget allows.
func (f *following) reserveEvent(ctx context.Context, bytes int64) error {
	if bytes <= memoryshare.EventCost*(maxEvent+maxEvent/4) {
		bytes = min(bytes, f.memory.Largest())
	}
	return f.events.Reserve(ctx, bytes)
}

// reserve raises the reservation to a total of bytes, but at most to the largest
// reservation that the budget allows. It returns false if there is not enough memory.
func (f *following) reserve(ctx context.Context, bytes int64) bool {
	return f.memory.Grow(ctx, f.call.Reservation, accounting, min(bytes, f.memory.Largest()))
}

// most is the size of the largest task that is read, in bytes. The text and the decoded task, which has copies of its
// strings, are in memory at once.
func (f *following) most() int { return int(min(maxTask, f.memory.Largest()/2)) }

// admit raises the reservation by the memory of a task that is about to be read. If there is not enough memory, its error
// is a2a.Busy.
func (f *following) admit(ctx context.Context, length int64) (int, error) {
	f.events.Release() // no event is being read
	most := f.most()
	size := int64(most)
	if length >= 0 {
		size = min(size, length)
	}
	if !f.reserve(ctx, int64(f.composed.charged)+2*size) {
		return 0, a2a.Busy("Too many large results are being read")
	}
	return most, nil
}

// admitDecoded raises the reservation of a task that admit has admitted to what its text and what it decodes to take. A task that has fewer
// small values than most is decoded with what admit has reserved.
func (f *following) admitDecoded(ctx context.Context, length, weight int64) error {
	need := int64(f.composed.charged) + 2*length + weight
	switch {
	case need <= f.call.Reservation.Held() || weight <= length/2:
		return nil
	case need > f.memory.Largest():
		return &a2a.Error{
			Reason: a2a.ReasonInvalidAgentResponse,
			Message: fmt.Sprintf("Task %s needs %d KiB of memory, and the memory limit of the sidecar allows %d KiB: read its artifacts with an A2A client, at %s",
				cmp.Or(f.TaskID(), f.call.task()), need>>10, f.memory.Largest()>>10, f.call.URL),
		}
	case !f.reserve(ctx, need):
		return a2a.Busy("Too many large results are being read")
	default:
		return nil
	}
}

// read reads the task.
func (f *following) read(ctx context.Context, id string) (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, firstTimeout+idleTimeout)
	defer cancel()
	e, err := f.Client.Get(ctx, &a2a.GetRequest{TaskID: id, HistoryLength: new(0)})
	switch {
	case err != nil:
		return nil, err
	case e.Task.ID != id:
		return nil, errUnreadable
	}
	return e.Task, nil
}

// readWithRetry reads the final task. It repeats transient failures up to maxReads reads in
// all.
func (f *following) readWithRetry(ctx context.Context) (*a2a.Task, error) {
	pause := pollInterval
	for reads := 1; ; reads++ {
		task, err := f.read(ctx, f.TaskID())
		if err == nil || reads == maxReads || !mayRead(err) {
			return task, err
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause *= 2
	}
}

// mayRead reports whether a read is repeated after an error.
func mayRead(err error) bool {
	if problem, refused := errors.AsType[*a2a.Error](err); refused {
		return problem.Reason == a2a.ReasonResourceExhausted
	}
	if errors.Is(err, client.ErrTooLarge) {
		return false
	}
	problem, refused := errors.AsType[*client.Error](err)
	return !refused || problem.IsTransient()
}

// cancel cancels the task, if its id is known. It waits for the response for at most
// cancelTimeout.
func (f *following) cancel(ctx context.Context, id string) {
	if id == "" {
		return
	}
	ctx, stop := context.WithTimeout(delegation.Canceling(ctx), cancelTimeout)
	defer stop()
	_, _ = f.Client.Cancel(ctx, &a2a.CancelRequest{TaskID: id}) // the answer changes nothing
}

// errWaited is the cause of the end of a call whose task still runs after Options.MaxWait or Call.Wait.
var errWaited = errors.New("task still runs")

// Read returns the present state of a call's task. Its errors are *a2a.Error. If ctx ends,
// the error is the cause of its end.
func (c *Client) Read(ctx context.Context, call *Call) (*a2a.Task, error) {
	f, err := c.follow(ctx, call)
	if err != nil {
		return nil, err
	}
	defer f.events.Release()
	task, err := f.read(ctx, call.task())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, f.explain(err)
	}
	return task, nil
}

// Cancel asks the agent to cancel the task of a call. It returns no error: the task shows whether it was
// canceled.
func (c *Client) Cancel(ctx context.Context, call *Call) {
	if f, err := c.follow(ctx, call); err == nil {
		defer f.events.Release()
		f.cancel(ctx, call.TaskID)
	}
}

// Do calls an agent and waits for the result. If ctx ends, Do cancels the task that received
// the call's message, and returns the cause of the end of ctx. Its other errors are
// *a2a.Error with a text for the caller. If a failure occurs after the agent has sent an
// event of a task, Do returns the failure in Result.Failure, and no error.
func (c *Client) Do(ctx context.Context, call *Call) (*Result, error) {
	// When ctx ends, the call continues until the id of its task is known, because the task
	// cannot be canceled without the id.
	inner, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	f, err := c.follow(inner, call)
	if err != nil {
		return nil, err
	}
	defer f.events.Release()
	defer context.AfterFunc(ctx, func() { f.leave(context.Cause(ctx), stop) })()
	waited := time.AfterFunc(c.options.MaxWait, func() { stop(errWaited) })
	defer waited.Stop()
	if call.Wait > 0 {
		f.stop = func() { stop(errWaited) }
		defer time.AfterFunc(call.Wait, f.hurry).Stop()
	}

	if call.Message != nil {
		err = f.Send(inner, &a2a.SendRequest{Message: call.Message, HistoryLength: new(0)})
	} else {
		err = f.Task(inner, call.TaskID, "")
	}
	if ctx.Err() != nil {
		if call.Message != nil && !f.State().Terminal() {
			f.cancel(context.WithoutCancel(ctx), f.TaskID())
		}
		return nil, context.Cause(ctx)
	}
	if f.reply != nil {
		return &Result{Message: f.reply}, nil
	}
	if errors.Is(context.Cause(inner), errWaited) && f.TaskID() != "" {
		inner = context.WithoutCancel(ctx)
		f.composed.charge = func(bytes int64) bool { return f.reserve(inner, bytes) }
		err = nil
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

// failed returns a Result with the task as composed of its events, and with err as the
// Failure. If no event of a task has arrived, it returns err as an *a2a.Error instead.
func (f *following) failed(err error) (*Result, error) {
	if task := f.composed.result(); task != nil {
		problem, _ := f.reasonOf(err)
		return &Result{Task: task, Failure: problem, Truncated: f.composed.truncated}, nil
	}
	return nil, f.explain(err)
}

var errUnreadable = &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The agent's answer is not a response of A2A 1.0"}

// reasonOf returns the reason of a failed call. refused is true if the agent has named it.
func (f *following) reasonOf(err error) (reason *a2a.Error, refused bool) {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		if _, ok := errors.AsType[*client.DecodeError](err); !ok {
			return problem, true
		}
	}
	text := "The connection to the agent broke"
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		text = failure.Reason
	}
	problem, ok := errors.AsType[*client.Error](err)
	_, isDecodeError := errors.AsType[*client.DecodeError](err)
	switch {
	case ok && problem.Named:
		return &a2a.Error{Reason: problem.Reason, Message: cmp.Or(problem.Message, "The agent answered with error "+string(problem.Reason))}, true
	case ok:
		text = stream.StatusError(problem.Status).Reason
	case isDecodeError:
		return errUnreadable, true
	case errors.Is(err, client.ErrTooLarge):
		return &a2a.Error{
			Reason:  a2a.ReasonInvalidAgentResponse,
			Message: fmt.Sprintf("Task %s has more than %d bytes: read its artifacts with an A2A client, at %s", cmp.Or(f.TaskID(), f.call.task()), f.most(), f.call.URL),
		}, true
	}
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: text}, false
}

// explain returns the error of a call for its caller. If the agent may have accepted the message, the error does not
// propose to send it again, because the agent would do the work twice.
func (f *following) explain(err error) *a2a.Error {
	problem, refused := f.reasonOf(err)
	var advice string
	switch {
	case f.MayBeAccepted() && f.TaskID() != "":
		advice = ". The agent may have accepted the message: do not send it again, but wait for task " + f.TaskID() + " without a message"
	case f.MayBeAccepted():
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
