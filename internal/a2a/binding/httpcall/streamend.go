// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

// The functions of this file decide, for each protocol version, which event ends a stream. The end of a
// stream ends no task.

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// IsFinal reports whether an event is a status with final set. Such an event ends a stream
// of a version up to 0.3.
func IsFinal(e *a2a.Event) bool { return e.Status != nil && e.Status.Final() }

// EndsTurn reports whether an event ends the stream of a message in 1.0: a status that ends
// the task or requires input.
func EndsTurn(e *a2a.Event) bool {
	return e.Status != nil &&
		(e.Status.Status.State.Terminal() || e.Status.Status.State == a2a.StateInputRequired)
}

// EndsTask reports whether an event ends the stream of a subscription in 1.0: a status that
// ends the task.
func EndsTask(e *a2a.Event) bool { return e.Status != nil && e.Status.Status.State.Terminal() }

// FinalStatus returns the status to send after last, if last is the snapshot of a task that
// has ended: some clients wait for a final event. Otherwise, it returns nil.
func FinalStatus(last *a2a.Event) *a2a.Event {
	t := last.Task
	if t == nil || !t.Status.State.Terminal() {
		return nil
	}
	return &a2a.Event{Status: &a2a.StatusUpdate{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status}}
}

// NoEvent returns nil, for clients that need no event after a snapshot.
func NoEvent(*a2a.Event) *a2a.Event { return nil }
