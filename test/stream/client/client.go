// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client reads streams in every dialect, as cheaply as it can and
// without mercy: it can break its connection in all the ways that clients and
// networks do. It judges nothing.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// Ask is what a stream is asked for: the one of a message, or that of a task.
type Ask struct {
	// Text makes it that of a message.
	Text string
	// MessageID is the message's, for the dialects that have it.
	MessageID string
	// TaskID is the task that the message continues, or that is subscribed to.
	TaskID string
	// NewID is what a client of 0.1 calls its new task.
	NewID string
	// After is the number of the last event that the client saw; nil when it
	// saw none, or does not care.
	After *uint64
	// Buffer bounds what the kernel takes in for a reader; 0 leaves it alone.
	Buffer int
	// Patience bounds the whole stream, a minute by default.
	Patience time.Duration
}

// patience is longer than all that a server may take.
const patience = time.Minute

func (a *Ask) deadline() time.Time { return time.Now().Add(cmp.Or(a.Patience, patience)) }

// Item is an event of a stream, with the task that it is about.
type Item struct {
	history.Event
	TaskID string
	// Word is the message of a snapshot's status.
	Word string
}

// Stream is one that is open.
type Stream interface {
	// Next returns the next event, or io.EOF after the end that the server gave
	// the stream, a *RefusedError, or the error of a connection that broke.
	Next() (Item, error)
	// Break breaks the connection.
	Break(how Breakage)
	// Last is the number that the server gave at the end, 0 for none.
	Last() uint64
	// Close lets go of it.
	Close()
}

// Breakage is how a connection breaks.
type Breakage string

// The breakages.
const (
	// Leave closes the connection, or the stream where a connection has many.
	Leave Breakage = "leave"
	// Reset is a connection reset, as of a process that was killed.
	Reset Breakage = "reset"
	// HalfClose says that this side says no more, and goes on reading.
	HalfClose Breakage = "half-close"
	// Abandon reads no more, and says nothing: the peer is half-open until it
	// finds out.
	Abandon Breakage = "abandon"
)

// Breakages are all of them.
var Breakages = []Breakage{Leave, Reset, HalfClose, Abandon}

// RefusedError is an error that the server tells.
type RefusedError struct {
	Outcome history.Outcome
	Text    string
}

func (r *RefusedError) Error() string { return fmt.Sprintf("%s: %s", r.Outcome, r.Text) }

// OutcomeOf says how a stream ended that returned an error.
func OutcomeOf(err error) (outcome history.Outcome, reason string) {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Outcome, refused.Text
	}
	return history.Cut, err.Error()
}

// Dialect is a version over a binding.
type Dialect struct {
	Name string
	// Numbers is true for dialects whose events have numbers from the first
	// stream on.
	Numbers bool
	// NamesTasks is true for the one whose clients choose the ids of tasks, and
	// whose messages have none.
	NamesTasks bool

	open func(ctx context.Context, address string, a *Ask) (Stream, error)
	get  func(ctx context.Context, address, task string) (Item, error)
}

// Open asks for a stream.
func (d *Dialect) Open(ctx context.Context, address string, a *Ask) (Stream, error) {
	return d.open(ctx, address, a)
}

// Get reads a task.
func (d *Dialect) Get(ctx context.Context, address, task string) (history.Event, error) {
	item, err := d.get(ctx, address, task)
	return item.Event, err
}

// Word reads what is said of the state of a task.
func (d *Dialect) Word(ctx context.Context, address, task string) (string, error) {
	item, err := d.get(ctx, address, task)
	return item.Word, err
}

// Dialects are all that stream.
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

// Auditor is the dialect in which logs are read after the end: it numbers its
// events, and replays those of tasks that have ended.
var Auditor = Dialects[5]
