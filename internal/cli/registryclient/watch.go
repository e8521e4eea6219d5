// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryclient

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/sse"
)

// watchIdle is the time without an event after which a watch is lost. The registry sends a
// bookmark every 20 s.
const watchIdle = time.Minute

// EventType is the type of an event of a watch.
type EventType string

// Types of events.
const (
	// Reset comes before all agents: the watch cannot tell what changed.
	Reset EventType = "reset"
	// Upsert is a new or changed agent.
	Upsert EventType = "upsert"
	// Remove is an agent that is gone or that the caller may not see any more.
	Remove EventType = "remove"
	// Synced comes after the first changes: others follow as they happen.
	Synced EventType = "synced"
	// Bookmark has a later id.
	Bookmark EventType = "bookmark"
)

// Event is an event of a watch.
type Event struct {
	Type EventType
	// ID is the id of the last event that had one. A watch resumes behind it.
	ID string
	// Agent is the agent of Upsert and Remove; the latter has the namespace and the name only.
	Agent
}

var errIdle = failure.New(failure.Unreachable, "the registry sent nothing for %s", watchIdle)

// Watch calls each for the changes of the agents that match a query without words: from the event with
// lastID on, and for all agents first if lastID is "". It returns nil when the registry ends the watch, which
// it does after some minutes.
func (c *Client) Watch(ctx context.Context, q Query, lastID string, each func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(watchIdle, func() { cancel(errIdle) })
	defer idle.Stop()
	parameters := q.parameters()
	parameters.Set("watch", "true")
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	response, err := c.do(ctx, header, parameters, "v1", "agents")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var own error // of each, or of an event
	err = sse.Read(response.Body, func(sent sse.Event) error {
		idle.Reset(watchIdle)
		own = deliver(sent, each)
		return own
	})
	if err != nil && own == nil {
		return c.explain(ctx, err)
	}
	return own
}

// deliver decodes an event and calls each.
func deliver(sent sse.Event, each func(Event) error) error {
	e := Event{Type: EventType(sent.Type), ID: sent.ID}
	if e.Type == Upsert || e.Type == Remove {
		if err := json.Unmarshal(sent.Data, &e.Agent); err != nil {
			return failure.Wrap(failure.Internal, err, "read an event of the registry")
		}
	}
	return each(e)
}
