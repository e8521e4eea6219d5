// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "context"

// Owner is the authenticated principal that a task belongs to. It is part of
// every key: what a caller does not own does not exist for it.
type Owner string

// SendRequest is a message to the agent.
type SendRequest struct {
	Owner   Owner
	Message *Message
	// AcceptedOutputModes is advice to the agent.
	AcceptedOutputModes []string
	// HistoryLength bounds the history in the answer; nil means all of it.
	HistoryLength *int
	// ReturnImmediately asks for the task as soon as it exists.
	ReturnImmediately bool
	// Push is the push configuration that came with the message; nil for none.
	Push     *PushConfig
	Metadata Object
	// Extensions are the URIs that the client activated.
	Extensions []string
	Tenant     string
	// TraceParent is the W3C trace context of the request, "" when absent.
	TraceParent string
}

// GetRequest asks for a task.
type GetRequest struct {
	Owner         Owner
	TaskID        string
	HistoryLength *int
}

// CancelRequest asks for a task to end.
type CancelRequest struct {
	Owner    Owner
	TaskID   string
	Metadata Object
}

// SubscribeRequest asks for a task's events.
type SubscribeRequest struct {
	Owner  Owner
	TaskID string
	// After resumes behind the event with this number, when the log still has
	// it. Nil asks for a snapshot first.
	After *uint64
	// HistoryLength bounds the history in the snapshot; nil means all of it.
	HistoryLength *int
}

// Handler is what a binding calls. It is implemented by the engine.
//
// Errors that a client caused or may act on are *Error; all others are system
// failures, whose text never reaches a client.
type Handler interface {
	// Send runs a turn and returns a Task or a Message. It blocks until the
	// task is terminal or interrupted, unless the request says otherwise.
	// When ctx ends, the turn goes on.
	Send(ctx context.Context, r *SendRequest) (Event, error)
	// Stream is Send with every event. The caller closes the stream.
	Stream(ctx context.Context, r *SendRequest) (Stream, error)
	// Get returns a snapshot.
	Get(ctx context.Context, r *GetRequest) (*Task, error)
	// Cancel ends a task and returns it.
	Cancel(ctx context.Context, r *CancelRequest) (*Task, error)
	// Subscribe follows a task that exists. On a terminal task the stream
	// holds the snapshot only; Terminal tells a version that wants an error.
	Subscribe(ctx context.Context, r *SubscribeRequest) (Stream, error)
}

// Stream yields the events of one task, or one Message, in order.
type Stream interface {
	// Next waits for at least one record and returns all that are ready. It
	// returns io.EOF after the last one, ErrSlowSubscriber when the caller fell
	// too far behind, ErrDraining when the server shuts down (both can be
	// resumed), and ctx's error. The slice is valid until the next call.
	Next(ctx context.Context) ([]*Record, error)
	// Close releases the stream. The task goes on.
	Close()
}
