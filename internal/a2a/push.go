// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"log/slog"
)

// PushConfig asks for a task's events to be posted to a URL.
type PushConfig struct {
	// Dialect is the one in which the configuration was registered, which is
	// also that of what is posted.
	Dialect Dialect
	ID      string
	TaskID  string
	URL     string
	// Token is sent along, so that the receiver knows who asked for it.
	Token string
	// Scheme and Credentials make the Authorization header; "" for none.
	Scheme      string
	Credentials string
	// Extensions and TraceParent are those of the message that the configuration
	// came with. They go along with what is posted.
	Extensions  []string
	TraceParent string
}

// LogValue leaves out whatever may be a secret: beside the credentials that is
// the URL, whose path and query often hold one.
func (c PushConfig) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", c.TaskID), slog.String("id", c.ID))
}

// String is for whoever prints a configuration: see LogValue.
func (c PushConfig) String() string { return "push configuration " + c.ID + " of task " + c.TaskID }

// GoString is String.
func (c PushConfig) GoString() string { return c.String() }

// SetPushRequest adds a configuration to a task, or replaces the one with the
// same id.
type SetPushRequest struct {
	Owner  Owner
	Tenant string
	// Config names its task. Without an id it gets that of the task.
	Config PushConfig
}

// PushRequest names one configuration of a task.
type PushRequest struct {
	Owner  Owner
	Tenant string
	TaskID string
	// ID is "" for the configuration that has the id of the task or, when there
	// is none, for the one that was set last.
	ID string
}

// ListPushRequest asks for the configurations of a task, in pages.
type ListPushRequest struct {
	Owner  Owner
	Tenant string
	TaskID string
	// PageSize is 0 for all of them.
	PageSize  int
	PageToken string
}

// PushPage is a page of configurations.
type PushPage struct {
	Configs []*PushConfig
	// NextPageToken is "" on the last page.
	NextPageToken string
}

// PushHandler keeps push configurations. Its errors are those of a Handler.
type PushHandler interface {
	SetPush(ctx context.Context, r *SetPushRequest) (*PushConfig, error)
	// GetPush answers ReasonTaskNotFound when there is no such configuration.
	GetPush(ctx context.Context, r *PushRequest) (*PushConfig, error)
	ListPush(ctx context.Context, r *ListPushRequest) (*PushPage, error)
	// DeletePush also ends deliveries that wait to be tried again. To delete
	// what is not there is no error, as long as the task is there.
	DeletePush(ctx context.Context, r *PushRequest) error
}
