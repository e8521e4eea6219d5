// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package streamend says which event is the last one of a stream, in each version
// and whatever carries it. It knows no transport, and ends no task.
package streamend

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// Final is the rule up to 0.3: an event that says it is final ends a stream,
// whichever it is.
func Final(e *a2a.Event) bool { return e.Status != nil && v03.Final(e.Status) }

// Turn is the rule of 1.0 for the stream of a message: the task has ended, or
// asks for input.
func Turn(e *a2a.Event) bool {
	return e.Status != nil &&
		(e.Status.Status.State.Terminal() || e.Status.Status.State == a2a.StateInputRequired)
}

// Task is the rule of 1.0 for the stream of a task: it has ended.
func Task(e *a2a.Event) bool { return e.Status != nil && e.Status.Status.State.Terminal() }

// Told returns what follows the snapshot of a task that has ended, for clients
// that only a final event tells so; nil after anything else.
func Told(last *a2a.Event) *a2a.Event {
	t := last.Task
	if t == nil || !t.Status.State.Terminal() {
		return nil
	}
	return &a2a.Event{Status: &a2a.StatusUpdate{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status}}
}

// Untold is for clients that see it by the end of the stream.
func Untold(*a2a.Event) *a2a.Event { return nil }
