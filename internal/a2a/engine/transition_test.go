// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var states = []a2a.State{
	a2a.StateUnknown, a2a.StateSubmitted, a2a.StateWorking, a2a.StateInputRequired, a2a.StateAuthRequired,
	a2a.StateCompleted, a2a.StateFailed, a2a.StateCanceled, a2a.StateRejected,
}

func TestTransitionOfAStatus(t *testing.T) {
	for _, from := range states {
		for _, asked := range states {
			e := &a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: asked}}}
			want, wantOK := asked, true
			switch {
			case from.Terminal():
				want, wantOK = from, false
			case asked == a2a.StateUnknown && from == a2a.StateUnknown:
				want, wantOK = from, false
			case asked == a2a.StateUnknown && from == a2a.StateSubmitted:
				want = a2a.StateWorking
			case asked == a2a.StateUnknown, asked == a2a.StateSubmitted && from != a2a.StateUnknown:
				want = from
			}
			if got, ok := transition(from, e); got != want || ok != wantOK {
				t.Errorf("transition(%s, %s) = %s, %t, want %s, %t", from, asked, got, ok, want, wantOK)
			}
		}
	}
}

func TestTransitionOfOtherEvents(t *testing.T) {
	tests := map[string]struct {
		event a2a.Event
		// refused returns true for the states in which the event is not allowed.
		refused func(a2a.State) bool
	}{
		"message":  {a2a.Event{Message: &a2a.Message{}}, a2a.State.Terminal},
		"artifact": {a2a.Event{Artifact: &a2a.ArtifactUpdate{}}, func(s a2a.State) bool { return s.Terminal() || s == a2a.StateUnknown }},
		"task":     {a2a.Event{Task: &a2a.Task{}}, func(a2a.State) bool { return true }},
		"nothing":  {a2a.Event{}, func(a2a.State) bool { return true }},
	}
	for name, tt := range tests {
		for _, from := range states {
			if got, ok := transition(from, &tt.event); got != from || ok == tt.refused(from) {
				t.Errorf("%s: transition(%s) = %s, %t", name, from, got, ok)
			}
		}
	}
}
