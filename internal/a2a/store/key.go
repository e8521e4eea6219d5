// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Key names a task. A task with another owner does not exist for a caller.
type Key struct {
	Owner  a2a.Owner
	TaskID string
}

// Origin contains the properties of a task that are set at its creation and never
// change.
type Origin struct {
	ContextID string
	// Dialect is the dialect of the message that created the task.
	Dialect a2a.Dialect
}

// Conversation names the messages of one owner in one context.
type Conversation struct {
	Owner     a2a.Owner
	ContextID string
}

// Replica names one incarnation of a replica: "<name>/<incarnation>". The name is the
// name of the pod, which stays the same when the container restarts. The incarnation
// is random.
type Replica string

// Name returns the name without the incarnation.
func (r Replica) Name() string {
	return string(r[:max(strings.LastIndexByte(string(r), '/'), 0)])
}
