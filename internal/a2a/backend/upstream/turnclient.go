// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
)

// maxHistory is the number of messages of the task's history that polls request after a
// stream ended early. Some servers refuse requests for more than 10.
const maxHistory = 10

// turnClient sends the requests of one turn to the agent, and passes the events of the
// responses to its relay.
type turnClient struct {
	*relay

	agent    *agent
	endpoint *endpoint
}

// sendMessage sends the message of the turn.
func (c *turnClient) sendMessage(ctx context.Context) error {
	op := clientdialect.Send
	if c.endpoint.streaming.Load() {
		op = clientdialect.Stream
	}
	m := *c.turn.Message
	if c.endpoint.NamesTasks && c.ids.task == "" {
		c.ids.task = derivedID("task", c.turn, c.turn.TaskID)
	}
	m.TaskID = c.ids.task
	m.ContextID = c.ids.context
	m.ReferenceTasks = c.referencedTasks()
	tenant := c.endpoint.tenantOf(c.turn)
	c.answering = true
	defer func() { c.answering = false }()
	return c.call(ctx, op, &callParams{tenant: tenant, send: &a2a.SendRequest{
		Message: &m, AcceptedOutputModes: c.turn.AcceptedOutputModes, HistoryLength: new(0),
		Metadata: c.turn.Metadata, Tenant: tenant,
	}})
}

// referencedTasks returns the agent's ids of the tasks that the message refers to. It omits
// tasks without a note of this backend, because the agent does not know them.
func (c *turnClient) referencedTasks() []string {
	var all []string
	for _, t := range c.turn.References {
		if l := parseNote(t.Note); l.task != "" {
			all = append(all, l.task)
		}
	}
	return all
}

// call sends a request and handles the events of the response.
func (c *turnClient) call(ctx context.Context, op clientdialect.Operation, p *callParams) error {
	resp, err := c.agent.send(ctx, c.endpoint, op, c.turn, p)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	watchdog := c.watchdog
	if op == clientdialect.Get || op == clientdialect.Subscribe {
		// The bytes of these responses, such as the comments that keep a connection open,
		// do not show that the task makes progress. Only new events count as activity.
		watchdog = nil
	}
	body := c.agent.client.NewBody(resp, watchdog)
	body.Reserve = c.turn.Reserve
	mediaType, _, err := body.MediaType()
	switch {
	case err != nil:
		return err
	case !stream.IsSuccess(resp.StatusCode):
		return c.statusError(resp.StatusCode, body)
	case mediaType == "text/event-stream":
		err = body.SSE(c.streamEvent, c.flush)
	default:
		err = c.singleResponse(op, body)
	}
	if errors.Is(err, errStatusHeld) {
		// The turn continues with a poll. Returning closes the stream even if the agent keeps it
		// open.
		return c.flush()
	}
	if errors.Is(err, backend.ErrTurnEnded) && watchdog != nil {
		body.DiscardRest()
	}
	return err
}

// statusError returns the error of a response whose status is not 2xx: a *protocolError if
// the agent named the error of the protocol, and a *backend.TurnError otherwise.
func (c *turnClient) statusError(status int, body *stream.Body) error {
	if text, fits, err := body.ReadUpTo(maxErrorBody); err == nil && fits {
		if problem := c.endpoint.binding.decodeError(status, text); problem != nil {
			return problem
		}
	}
	if c.agent.remote != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return &protocolError{reason: a2a.ReasonUnauthenticated, code: status}
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		c.agent.forgetEndpoint(c.endpoint)
	}
	return stream.StatusError(status)
}

// poll reads the task once, with the history that p requests. If that fails because the
// response is too long or the agent refuses the history, poll reads the task without its
// history.
func (c *turnClient) poll(ctx context.Context, p *callParams) error {
	err := c.call(ctx, clientdialect.Get, p)
	if err == nil || p.history == 0 || errors.Is(err, errTaskIncomplete) || ctx.Err() != nil {
		return err
	}
	problem, isProtocolError := errors.AsType[*protocolError](err)
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	if isProtocolError && problem.reason == a2a.ReasonInvalidParams || isFailure && !failure.Interrupted {
		p.history = 0
		return c.call(ctx, clientdialect.Get, p)
	}
	return err
}

// streamEvent handles one event of a stream.
func (c *turnClient) streamEvent(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	text, err := c.decode(text, c.endpoint.event)
	if err == nil || errors.Is(err, errStatusHeld) {
		return err
	}
	// Emit the earlier events first.
	if sendErr := c.flush(); sendErr != nil {
		return sendErr
	}
	return decodeFailure("event in line "+strconv.Itoa(number), text, err)
}

// decode handles the event in the envelope of a text. It returns the part of the text that it
// decoded last, for an excerpt.
func (c *turnClient) decode(text []byte, decode func([]byte) (a2a.Event, error)) ([]byte, error) {
	content, err := c.endpoint.binding.unwrap(text)
	if err != nil {
		return text, err
	}
	e, err := decode(content)
	if err == nil {
		err = c.handleEvent(&e)
	}
	return content, err
}

// singleResponse handles a response that is not a stream.
func (c *turnClient) singleResponse(op clientdialect.Operation, body *stream.Body) error {
	text, err := body.ReadAll()
	if err != nil {
		return err
	}
	decode := c.endpoint.response
	if op == clientdialect.Get {
		decode = c.endpoint.task
	}
	text, err = c.decode(text, decode)
	switch {
	case errors.Is(err, errStatusHeld):
		return err
	case err != nil:
		return decodeFailure("answer", text, err)
	}
	return c.flush()
}

// decodeFailure returns the error to report if a text cannot be decoded: err itself if it
// is a protocol error or a failure of the turn, and an Unrecognized failure with an excerpt
// otherwise.
func decodeFailure(what string, text []byte, err error) error {
	if problem, ok := errors.AsType[*protocolError](err); ok {
		return problem
	}
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return failure
	}
	switch {
	case errors.Is(err, errOtherTask):
		return backend.Failed("The agent's "+what+" belongs to another task", err)
	case errors.Is(err, errOtherRequest):
		return backend.Failed("The agent's "+what+" belongs to another request", err)
	default:
		return backend.Unrecognized("The agent's "+what+" "+stream.DecodeReason(err, "A2A"), text, err)
	}
}
