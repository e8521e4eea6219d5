// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"log/slog"
)

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
	// the configuration came with. Each notification contains them. Trace.Baggage is
	// empty.
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
	// ID is "" for the configuration with the id of the task or, if there is none, for
	// the one that was set last.
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

// PushHandler manages push configurations. Its errors follow the rule of Handler.
type PushHandler interface {
	SetPush(ctx context.Context, r *SetPushRequest) (*PushConfig, error)
	// GetPush returns ReasonTaskNotFound if there is no such configuration.
	GetPush(ctx context.Context, r *PushRequest) (*PushConfig, error)
	ListPush(ctx context.Context, r *ListPushRequest) (*PushPage, error)
	// DeletePush also ends deliveries that wait for a retry. Deleting a configuration
	// that does not exist is no error if the task exists.
	DeletePush(ctx context.Context, r *PushRequest) error
}
