// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// transition is the state machine of a task: the state that an event leads to,
// or false for an event that may not follow.
//
// Agents may skip states and go back and forth between working and waiting. A
// terminal state is the end: nothing follows it, whatever arrives. A state that
// an agent does not know, or that lies behind it, changes nothing.
func transition(from a2a.State, e *a2a.Event) (to a2a.State, ok bool) {
	switch {
	case from.Terminal(), e.Task != nil:
		return from, false
	case e.Message != nil:
		return from, true
	case e.Artifact != nil:
		return from, from != a2a.StateUnknown
	case e.Status == nil:
		return from, false
	}
	switch to = e.Status.Status.State; {
	case to == a2a.StateUnknown && from == a2a.StateUnknown:
		return from, false
	case to == a2a.StateUnknown && from == a2a.StateSubmitted:
		return a2a.StateWorking, true
	case to == a2a.StateUnknown, to == a2a.StateSubmitted && from != a2a.StateUnknown:
		return from, true
	default:
		return to, true
	}
}
