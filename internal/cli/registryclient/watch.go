// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

const (
	// maxLine bounds a line of a watch, in bytes. A line has one agent.
	maxLine = 4 << 20
	// watchIdle is the time without an event after which a watch is lost. The registry sends a
	// bookmark every 20 s.
	watchIdle = time.Minute
)

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
	// Namespace and Name are the agent of Upsert and Remove.
	Namespace, Name string
}

var errIdle = failure.New(failure.Unreachable, "the registry sent nothing for %s", watchIdle)

// Watch calls each for the changes of the agents of a namespace, or of all for "": from the event
// with lastID on, and for all agents first if lastID is "". It returns nil when the registry ends
// the watch, which it does after some minutes.
func (c *Client) Watch(ctx context.Context, namespace, lastID string, each func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(watchIdle, func() { cancel(errIdle) })
	defer idle.Stop()
	query := url.Values{"watch": {"true"}}
	if namespace != "" {
		query.Set("namespace", namespace)
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	response, err := c.do(ctx, header, query, "v1", "agents")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 32<<10), maxLine)
	event := Event{ID: lastID}
	for lines.Scan() {
		idle.Reset(watchIdle)
		if err := event.read(lines.Text(), each); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return explain(ctx, err)
	}
	return nil
}

// read reads a line, and calls each at the end of an event.
func (e *Event) read(line string, each func(Event) error) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch {
	case line == "" && e.Type != "":
		err := each(*e)
		*e = Event{ID: e.ID}
		return err
	case name == "id":
		e.ID = value
	case name == "event":
		e.Type = EventType(value)
	case name == "data":
		var agent struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		}
		if err := json.Unmarshal([]byte(value), &agent); err != nil {
			return failure.Wrap(failure.Internal, err, "read an event of the registry")
		}
		e.Namespace, e.Name = agent.Namespace, agent.Name
	}
	return nil
}
