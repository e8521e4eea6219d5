// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// transition is the state machine of a task. It returns the state to which an event
// leads, and false for an event that is not allowed in the state from.
//
// An agent may skip states and alternate between working and waiting. No event is
// allowed after a terminal state. A status without a state changes nothing, except
// that it starts a submitted task; neither does submitted after a later state.
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
