// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

// SendRequest is a message to the agent.
type SendRequest struct {
	Owner Owner
	// AccountingPrincipal is the principal to which limits charge the turn. The zero value
	// means the principal of Owner.
	AccountingPrincipal AccountingPrincipal
	Message             *Message
	// Dialect is the dialect of the request. A task that the request creates stores it.
	Dialect Dialect
	// ClientTaskID is true if the client chooses task ids (0.1). If the task Message.TaskID
	// does not exist, the request creates it, even if the agent answers with a message.
	ClientTaskID bool
	// Restart allows the message to begin a turn of a task that has ended (0.1).
	Restart bool
	// AcceptedOutputModes are media types that the agent should prefer.
	AcceptedOutputModes []string
	// HistoryLength bounds the history in the answer; nil means all of it.
	HistoryLength *int
	// ReturnImmediately asks for the task as soon as it exists.
	ReturnImmediately bool
	// Push is the push configuration that came with the message; nil for none.
	Push     *PushConfig
	Metadata Object
	// Extensions are the URIs of the extensions that the client requests and that the card
	// declares.
	Extensions []string
	Tenant     string
	Trace      TraceContext
	// Subject is the subject for whom the agent calls other agents during the turn. No store and no
	// other replica gets it. If it is nil, the engine derives the subject from the owner of the task.
	Subject *Subject `json:"-"`
	// Counted is called once the handler counts the memory of the message, or does not keep the message: its body
	// stays reserved until then. Nil for none.
	Counted func() `json:"-"`
}

// ChargedTo returns the accounting principal of the request.
func (r *SendRequest) ChargedTo() AccountingPrincipal {
	return cmp.Or(r.AccountingPrincipal, AccountingPrincipal{Principal: r.Owner.Principal()})
}

// Content calls text and raw with each value that is part of the content of the message,
// in a fixed order. Deduplication compares contents: if two requests have equal owners, ids
// and contents, the second request is a repetition of the first one.
func (r *SendRequest) Content(text func(string), raw func([]byte)) {
	m := r.Message
	for n := range m.Parts {
		p := &m.Parts[n]
		text("0123456789"[p.Content : p.Content+1])
		text(p.Text)
		raw(p.Raw)
		text(p.URL)
		raw(p.Data)
		text(p.Filename)
		text(p.MediaType)
		raw(p.Metadata)
	}
	raw(m.Metadata)
	raw(r.Metadata)
	if p := r.Push; p != nil {
		text(p.ID)
		text(p.URL)
		text(p.Token)
		text(p.Scheme)
		text(p.Credentials)
	}
	for _, id := range m.ReferenceTasks {
		text(id)
	}
}

// GetRequest asks for a task.
type GetRequest struct {
	Owner         Owner
	Tenant        string
	TaskID        string
	HistoryLength *int
	// Within is the method of the client's request, such as MethodSubscribeToTask, if that
	// request reads the task as one of its steps. It is "" if the client asked for the task.
	Within Method
}

// CancelRequest asks to cancel a task.
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
	// After is the number of the event after which the stream resumes, if the log still
	// contains all later events. Otherwise, or if After is nil, the stream begins with a
	// snapshot.
	After *uint64
	// RefuseEnded refuses with TaskEnded to resume after the last event of a task that has ended.
	// Otherwise, the stream has the task once more.
	RefuseEnded bool
	// HistoryLength bounds the history in the snapshot; nil means all of it.
	HistoryLength *int
}

// TaskEnded returns the error for a subscription to a task that has ended.
func TaskEnded(taskID string) *Error {
	return &Error{Reason: ReasonUnsupportedOperation, Message: "Task is in a terminal state", TaskID: taskID}
}

// ListRequest asks for the tasks of an owner that meet all conditions, ordered by the
// time of their status, the newest first.
type ListRequest struct {
	Owner  Owner
	Tenant string
	// ContextID is "" for all contexts.
	ContextID string
	// State is StateUnknown for all states.
	State State
	// Since excludes tasks whose status is older; the zero time excludes none.
	Since time.Time
	// PageSize is between 1 and 100; 0 means 50.
	PageSize int
	// PageToken is the NextPageToken of the previous page (continuation token); "" for the
	// first page.
	PageToken string
	// HistoryLength bounds the history of each task; nil means all of it.
	HistoryLength *int
	// IncludeArtifacts is true if the tasks have to contain their artifacts.
	IncludeArtifacts bool
}

// TaskPage is a page of tasks.
type TaskPage struct {
	Tasks []*Task
	// NextPageToken is "" on the last page.
	NextPageToken string
	// PageSize is the applied limit.
	PageSize int
	// TotalSize counts the tasks on all pages.
	TotalSize int
}

// Handler serves the operations of the protocol. Bindings call it, the engine
// implements it.
//
// Its errors are of type *Error if the client caused them or can act on them. The error
// for a task that the owner does not have is TaskNotFound. The text of any error that is
// not an *Error is not sent to clients.
type Handler interface {
	// Send runs a turn and returns a Task or a Message. It blocks until the task is
	// terminal or interrupted, but not longer than a limit of the server, after which it
	// returns the current task. With ReturnImmediately, it returns the task as soon as the
	// task exists. The turn continues when ctx ends.
	Send(ctx context.Context, r *SendRequest) (Event, error)
	// Stream runs a turn and returns its events. The caller closes the stream.
	Stream(ctx context.Context, r *SendRequest) (Stream, error)
	// Get returns a snapshot of a task.
	Get(ctx context.Context, r *GetRequest) (*Task, error)
	// List returns a page of tasks.
	List(ctx context.Context, r *ListRequest) (*TaskPage, error)
	// Cancel cancels a task and returns it. If the task has ended, the error is an *Error
	// with ReasonTaskNotCancelable.
	Cancel(ctx context.Context, r *CancelRequest) (*Task, error)
	// Subscribe returns the events of an existing task. The stream of a terminal task
	// consists of its snapshot.
	Subscribe(ctx context.Context, r *SubscribeRequest) (Stream, error)
}

// Stream yields the events of one task, or one Message, in order.
type Stream interface {
	// Next waits for at least one record and returns all that are ready. The slice is
	// valid until the next call. Next returns io.EOF after the last record,
	// ErrSlowSubscriber if the log has trimmed records that the caller did not read,
	// ErrDraining if the server shuts down, and the error of ctx if ctx ends. After
	// ErrSlowSubscriber and ErrDraining the client may subscribe again.
	Next(ctx context.Context) ([]*Record, error)
	// Close releases the stream. The task continues.
	Close()
}

// Method is an operation of the protocol. Requests of all versions and bindings use the
// name of the operation in 1.0.
type Method string

// The methods.
const (
	MethodSendMessage          Method = "SendMessage"
	MethodSendStreamingMessage Method = "SendStreamingMessage"
	MethodGetTask              Method = "GetTask"
	MethodListTasks            Method = "ListTasks"
	MethodCancelTask           Method = "CancelTask"
	MethodSubscribeToTask      Method = "SubscribeToTask"
	MethodCreatePushConfig     Method = "CreateTaskPushNotificationConfig"
	MethodGetPushConfig        Method = "GetTaskPushNotificationConfig"
	MethodListPushConfigs      Method = "ListTaskPushNotificationConfigs"
	MethodDeletePushConfig     Method = "DeleteTaskPushNotificationConfig"
	MethodGetExtendedCard      Method = "GetExtendedAgentCard"
)

// Known reports whether m is one of the methods above.
func (m Method) Known() bool {
	switch m {
	case MethodSendMessage, MethodSendStreamingMessage, MethodGetTask, MethodListTasks, MethodCancelTask, MethodSubscribeToTask,
		MethodCreatePushConfig, MethodGetPushConfig, MethodListPushConfigs, MethodDeletePushConfig, MethodGetExtendedCard:
		return true
	default:
		return false
	}
}

// Sends reports whether a request of the method contains a message. Only such a request
// can name a skill.
func (m Method) Sends() bool { return m == MethodSendMessage || m == MethodSendStreamingMessage }

// TraceContext is the trace context of a request in the form of its headers (W3C Trace
// Context, W3C Baggage). The zero value stands for none. The sidecar passes the values on
// and does not interpret State and Baggage.
type TraceContext struct {
	// Parent is the header traceparent.
	Parent string
	// State is the header tracestate; "" without a Parent.
	State string
	// Baggage is the header baggage.
	Baggage string
}

// PushConfig asks for a task's events to be posted to a URL.
type PushConfig struct {
	// Dialect is the dialect of the request that registered the configuration. The
	// notifications use it, too.
	Dialect Dialect
	ID      string
	TaskID  string
	URL     string
	// Token is sent with each notification so that the receiver can verify its origin.
	Token string
	// Scheme and Credentials form the Authorization header; "" for none.
	Scheme      string
	Credentials string
	// Extensions and Trace are the extensions and the trace context of the message that
	// brought the configuration. Each notification contains them. Trace.Baggage is empty.
	Extensions []string
	Trace      TraceContext
}

// LogValue omits all fields that may contain a secret: token, credentials and the URL,
// whose path or query often contains one.
func (c PushConfig) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", c.TaskID), slog.String("id", c.ID))
}

// String returns the ids of the configuration and nothing secret, see LogValue.
func (c PushConfig) String() string { return "push configuration " + c.ID + " of task " + c.TaskID }

// GoString returns the result of String, so that %#v prints no secret either.
func (c PushConfig) GoString() string { return c.String() }

// SetPushRequest adds a push configuration to a task, or replaces the one with the same
// id.
type SetPushRequest struct {
	Owner  Owner
	Tenant string
	// Config contains the task id. If Config.ID is "", the configuration gets the id of
	// the task.
	Config PushConfig
}

// PushRequest names one configuration of a task.
type PushRequest struct {
	Owner  Owner
	Tenant string
	TaskID string
	// ID is the id of the configuration. "" names the configuration whose id is TaskID. If
	// there is none, GetPush returns the configuration that was set last.
	ID string
}

// ListPushRequest asks for the configurations of a task, in pages.
type ListPushRequest struct {
	Owner  Owner
	Tenant string
	TaskID string
	// PageSize bounds the page; 0 means all configurations.
	PageSize  int
	PageToken string
}

// PushPage is a page of configurations.
type PushPage struct {
	Configs []*PushConfig
	// NextPageToken is "" on the last page.
	NextPageToken string
}

// PushHandler manages push configurations. As for Handler, its errors are of type *Error if
// the client caused them or can act on them.
type PushHandler interface {
	SetPush(ctx context.Context, r *SetPushRequest) (*PushConfig, error)
	// GetPush returns an *Error with ReasonTaskNotFound if the configuration does not exist.
	GetPush(ctx context.Context, r *PushRequest) (*PushConfig, error)
	ListPush(ctx context.Context, r *ListPushRequest) (*PushPage, error)
	// DeletePush also ends deliveries that wait for a retry. Deleting a configuration
	// that does not exist is no error if the task exists.
	DeletePush(ctx context.Context, r *PushRequest) error
}
