// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"strings"
	"time"
)

// Owner is the authenticated principal that a task belongs to. It is part of
// every key: what a caller does not own does not exist for it.
//
// Within a tenant the same principal is another owner: see In.
type Owner string

// tenantMark stands between a principal and a tenant. No principal holds it.
const tenantMark = "\x1f"

// In returns the owner within a tenant, "" for none: what was made under one
// tenant does not exist under another.
func (o Owner) In(tenant string) Owner {
	if tenant == "" {
		return o
	}
	return o + Owner(tenantMark+tenant)
}

// Principal returns the owner without the tenant.
func (o Owner) Principal() string {
	principal, _, _ := strings.Cut(string(o), tenantMark)
	return principal
}

// Tenant returns the tenant, "" for none.
func (o Owner) Tenant() string {
	_, tenant, _ := strings.Cut(string(o), tenantMark)
	return tenant
}

// SendRequest is a message to the agent.
type SendRequest struct {
	Owner Owner
	// AccountingPrincipal is whom limits charge for the turn; the zero value stands for
	// the principal of the owner.
	AccountingPrincipal AccountingPrincipal
	Message             *Message
	// Dialect is the one of the request; a task that it creates remembers it.
	Dialect Dialect
	// ClientTaskID lets Message.TaskID name a task that does not exist yet, which
	// is then created, whatever the agent answers (0.1).
	ClientTaskID bool
	// Restart lets the message start a new run of a task that has ended (0.1).
	Restart bool
	// AcceptedOutputModes is advice to the agent.
	AcceptedOutputModes []string
	// HistoryLength bounds the history in the answer; nil means all of it.
	HistoryLength *int
	// ReturnImmediately asks for the task as soon as it exists.
	ReturnImmediately bool
	// Push is the push configuration that came with the message; nil for none.
	Push     *PushConfig
	Metadata Object
	// Extensions are the URIs that the client asked for and the card declares.
	Extensions []string
	Tenant     string
	// TraceParent is the W3C trace context of the request, "" when absent.
	TraceParent string
}

// GetRequest asks for a task.
type GetRequest struct {
	Owner         Owner
	Tenant        string
	TaskID        string
	HistoryLength *int
	// Within is the method that a look at the task is a part of, "" when it is
	// all that was asked for.
	Within Method
}

// CancelRequest asks for a task to end.
type CancelRequest struct {
	Owner    Owner
	Tenant   string
	TaskID   string
	Metadata Object
}

// SubscribeRequest asks for a task's events.
type SubscribeRequest struct {
	Owner  Owner
	Tenant string
	TaskID string
	// After resumes behind the event with this number, when the log still has
	// it. Nil asks for a snapshot first.
	After *uint64
	// HistoryLength bounds the history in the snapshot; nil means all of it.
	HistoryLength *int
}

// ListRequest asks for the tasks of a caller that meet all of its conditions,
// the one with the newest status first.
type ListRequest struct {
	Owner  Owner
	Tenant string
	// ContextID is "" for all contexts.
	ContextID string
	// State is StateUnknown for all states.
	State State
	// Since leaves out tasks whose status is older; the zero time leaves out none.
	Since time.Time
	// PageSize is between 1 and 100; 0 means 50.
	PageSize  int
	PageToken string
	// HistoryLength bounds the history of each task; nil means all of it.
	HistoryLength *int
	// IncludeArtifacts is false to leave them out.
	IncludeArtifacts bool
}

// TaskPage is a page of tasks.
type TaskPage struct {
	Tasks []*Task
	// NextPageToken is "" on the last page.
	NextPageToken string
	// PageSize is the limit that was applied.
	PageSize int
	// TotalSize counts the tasks on all pages.
	TotalSize int
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
	// List returns a page of tasks.
	List(ctx context.Context, r *ListRequest) (*TaskPage, error)
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
