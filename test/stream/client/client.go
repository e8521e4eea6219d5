// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client reads streams in every dialect with little overhead, and can break its connections in the ways in which
// clients and networks break them. It does not check the content of the streams.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// Request is a request for a stream: it sends a message if Text is set, and otherwise subscribes to a task.
type Request struct {
	Text string
	// MessageID is the id of the message, in dialects with message ids.
	MessageID string
	// TaskID is the task that the message continues or that the request subscribes to.
	TaskID string
	// NewID is the id that a client of 0.1 chooses for a new task.
	NewID string
	// After is the number of the last event that the client received, nil to start with a snapshot.
	After *uint64
	// Buffer is the size of the socket's receive buffer in bytes; 0 for the default of the system.
	Buffer int
	// Timeout bounds the whole stream. The default is a minute.
	Timeout time.Duration
}

// defaultTimeout is longer than a server may take for any response.
const defaultTimeout = time.Minute

func (a *Request) deadline() time.Time { return time.Now().Add(cmp.Or(a.Timeout, defaultTimeout)) }

// Item is an event of a stream, with its task.
type Item struct {
	history.Event
	TaskID string
	// StatusMessage is the text of the message in the status of a snapshot.
	StatusMessage string
}

// Stream is an open stream.
type Stream interface {
	// Next returns the next event. It returns io.EOF after an orderly end, a *RefusedError for an error
	// response, and another error if the connection broke.
	Next() (Item, error)
	// Break breaks the connection.
	Break(how Breakage)
	// Last returns the number of the last event, which a gRPC server sends in the trailers at the end of a stream. It returns
	// 0 if the server sent none.
	Last() uint64
	// Close releases the connection.
	Close()
}

// Breakage is a way to break a connection.
type Breakage string

const (
	// Leave closes the connection or, in a dialect with several streams for each connection, the stream.
	Leave Breakage = "leave"
	// Reset sends RST, as the kernel does for a process that was killed.
	Reset Breakage = "reset"
	// HalfClose closes the direction to the server and continues to read.
	HalfClose Breakage = "half-close"
	// Abandon stops reading and sends nothing, so that the server has a half-open connection until a time-out.
	Abandon Breakage = "abandon"
)

// Breakages lists all ways to break a connection.
var Breakages = []Breakage{Leave, Reset, HalfClose, Abandon}

// RefusedError is an error response of the server.
type RefusedError struct {
	Outcome history.Outcome
	Text    string
}

func (r *RefusedError) Error() string { return fmt.Sprintf("%s: %s", r.Outcome, r.Text) }

// OutcomeOf returns the outcome of a stream that ended with an error.
func OutcomeOf(err error) (outcome history.Outcome, reason string) {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Outcome, refused.Text
	}
	return history.Cut, err.Error()
}

// Dialect is a protocol version over a binding.
type Dialect struct {
	Name string
	// Numbers is true if the first stream of a task already numbers its events.
	Numbers bool
	// NamesTasks is true if clients choose the ids of tasks, and messages have no id.
	NamesTasks bool

	open func(ctx context.Context, address string, a *Request) (Stream, error)
	get  func(ctx context.Context, address, task string) (Item, error)
}

// Open opens a stream.
func (d *Dialect) Open(ctx context.Context, address string, a *Request) (Stream, error) {
	return d.open(ctx, address, a)
}

// Get reads a task.
func (d *Dialect) Get(ctx context.Context, address, task string) (history.Event, error) {
	item, err := d.get(ctx, address, task)
	return item.Event, err
}

// StatusMessage reads the text of the message in the status of a task.
func (d *Dialect) StatusMessage(ctx context.Context, address, task string) (string, error) {
	item, err := d.get(ctx, address, task)
	return item.StatusMessage, err
}

// Dialects lists all dialects that stream.
var Dialects = []*Dialect{
	{Name: "0.1 JSON-RPC", NamesTasks: true, open: v01.open, get: v01.get},
	{Name: "0.3 JSON-RPC", Numbers: true, open: v03.open, get: v03.get},
	{Name: "0.3 REST kinds", Numbers: true, open: v03Kinds.open, get: v03Kinds.get},
	{Name: "0.3 REST", Numbers: true, open: v03Proto.open, get: v03Proto.get},
	{Name: "0.3 gRPC", open: grpcV03.open, get: grpcV03.get},
	{Name: "1.0 JSON-RPC", Numbers: true, open: v10.open, get: v10.get},
	{Name: "1.0 REST", Numbers: true, open: v10Proto.open, get: v10Proto.get},
	{Name: "1.0 gRPC", open: grpcV10.open, get: grpcV10.get},
}

// Auditor is the dialect with which tasks are read after their end: it numbers events, and replays the log of a task that
// has ended.
var Auditor = Dialects[5]
