// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryclient

import (
	"context"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/sse"
	"github.com/a2a-operator/a2a-operator/internal/registryapi"
)

// watchIdle is the time without an event after which the client gives a watch up. The registry sends a bookmark every
// 20 s.
const watchIdle = time.Minute

var errIdle = failure.New(failure.Unreachable, "the registry sent nothing for %s", watchIdle)

// Watch calls each for the changes of the agents that match the query, which must have no words: for the changes after
// the event with lastID, or, if lastID is "", for all agents and then for changes. It returns nil when the registry ends
// the watch, after some minutes.
func (c *Client) Watch(ctx context.Context, q Query, lastID string, each func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(watchIdle, func() { cancel(errIdle) })
	defer idle.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	response, err := c.do(ctx, header, q.WatchParameters(), "v1", "agents")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var own error // the error of each, or of decoding an event
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
	e, err := registryapi.DecodeEvent(sent.Type, sent.ID, sent.Data)
	if err != nil {
		return failure.Wrap(failure.Internal, err, "read an event of the registry")
	}
	return each(e)
}
