// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
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

// client returns a client for the requests of the turn.
func (c *turnClient) client() *client.Client {
	return client.New(client.Options{
		HTTP: c.agent.client, Endpoint: c.endpoint.Endpoint, Header: c.agent.header(c.turn), Extensions: c.turn.Extensions,
		Watchdog: c.watchdog, Reserve: c.turn.Reserve, Flush: c.flush,
	})
}

// sendMessage sends the message of the turn.
func (c *turnClient) sendMessage(ctx context.Context) error {
	m := *c.turn.Message
	if c.endpoint.NamesTasks && c.ids.task == "" {
		c.ids.task = derivedID("task", c.turn, c.turn.TaskID)
	}
	m.TaskID = c.ids.task
	m.ContextID = c.ids.context
	m.ReferenceTasks = c.referencedTasks()
	c.answering = true
	defer func() { c.answering = false }()
	return c.outcome(c.client().Stream(ctx, &a2a.SendRequest{
		Message: &m, AcceptedOutputModes: c.turn.AcceptedOutputModes, HistoryLength: new(0),
		Metadata: c.turn.Metadata, Tenant: c.turn.Tenant,
	}, c.handle))
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

// handle handles an event of the agent. Before it returns an error of an event in a stream, it emits the earlier events.
func (c *turnClient) handle(e *client.Event) error {
	err := c.handleEvent(&e.Event)
	if err == nil || errors.Is(err, errStatusHeld) {
		return err
	}
	if e.Line > 0 {
		if sendErr := c.flush(); sendErr != nil {
			return sendErr
		}
	}
	if errors.Is(err, errOtherTask) {
		return backend.Failed("The agent's "+client.Place(e.Line)+" belongs to another task", err)
	}
	return err
}

// outcome returns the error of a request for the turn: a *client.Error if the agent named the error of the protocol,
// and a *backend.TurnError or an error of the turn otherwise.
func (c *turnClient) outcome(err error) error {
	if errors.Is(err, errStatusHeld) {
		// The turn continues with a poll. The stream is closed even if the agent keeps it open.
		return c.flush()
	}
	if failure, ok := errors.AsType[*client.DecodeError](err); ok {
		what := "The agent's " + client.Place(failure.Line)
		if errors.Is(err, client.ErrOtherRequest) {
			return backend.Failed(what+" belongs to another request", failure.Err)
		}
		return backend.Unrecognized(what+" "+stream.DecodeReason(failure.Err, "A2A"), failure.Text, failure.Err)
	}
	problem, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok || problem.Named, c.agent.remote != nil && problem.Reason == a2a.ReasonUnauthenticated, c.agent.remote != nil && problem.Reason == a2a.ReasonPermissionDenied:
		return err
	case problem.Status == http.StatusNotFound || problem.Status == http.StatusMethodNotAllowed:
		c.agent.forgetEndpoint(c.endpoint)
	}
	return stream.StatusError(problem.Status)
}

// poll reads the task once, with the given length of its history. If that fails because the
// response is too long or the agent refuses the history, poll reads the task without its
// history.
func (c *turnClient) poll(ctx context.Context, history *int) error {
	err := c.get(ctx, *history)
	if err == nil || *history == 0 || errors.Is(err, errTaskIncomplete) || ctx.Err() != nil {
		return err
	}
	problem, isProtocolError := errors.AsType[*client.Error](err)
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	if isProtocolError && problem.Reason == a2a.ReasonInvalidParams || isFailure && !failure.Interrupted {
		*history = 0
		return c.get(ctx, 0)
	}
	return err
}

// get reads the task.
func (c *turnClient) get(ctx context.Context, history int) error {
	e, err := c.client().Get(ctx, &a2a.GetRequest{TaskID: c.ids.task, Tenant: c.turn.Tenant, HistoryLength: &history})
	if err == nil {
		err = c.handle(e)
	}
	if err == nil {
		err = c.flush()
	}
	return c.outcome(err)
}
