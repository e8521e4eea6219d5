// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestEventsThatEndAStream(t *testing.T) {
	type rules struct{ final, turn, task bool }
	tests := map[a2a.State]rules{
		a2a.StateSubmitted:     {},
		a2a.StateWorking:       {},
		a2a.StateAuthRequired:  {},
		a2a.StateInputRequired: {final: true, turn: true},
		a2a.StateCompleted:     {true, true, true},
		a2a.StateFailed:        {true, true, true},
		a2a.StateCanceled:      {true, true, true},
		a2a.StateRejected:      {true, true, true},
	}
	for state, want := range tests {
		e := &a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: state}}}
		if got := (rules{IsFinal(e), EndsTurn(e), EndsTask(e)}); got != want {
			t.Errorf("%s ends %+v, want %+v", state, got, want)
		}
		snapshot := &a2a.Event{Task: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: state}}}
		if IsFinal(snapshot) || EndsTurn(snapshot) || EndsTask(snapshot) {
			t.Errorf("a snapshot that is %s ends a stream", state)
		}
		var want *a2a.Event
		if state.Terminal() {
			want = &a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.Status{State: state}}}
		}
		if diff := cmp.Diff(want, FinalStatus(snapshot)); diff != "" {
			t.Errorf("after a snapshot that is %s (-want +got):\n%s", state, diff)
		}
		if FinalStatus(e) != nil || NoEvent(snapshot) != nil {
			t.Errorf("an event follows %s", state)
		}
	}
	waits := &a2a.Event{Status: &a2a.StatusUpdate{Paused: true, Status: a2a.Status{State: a2a.StateInputRequired}}}
	if IsFinal(waits) || !EndsTurn(waits) {
		t.Error("a run that waits for input in place ends streams of 0.3, or continues in 1.0")
	}
}
