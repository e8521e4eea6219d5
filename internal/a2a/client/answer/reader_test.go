// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestMessagesOfTheClientAreNotShown tests an agent that repeats the client's message in a status.
func TestMessagesOfTheClientAreNotShown(t *testing.T) {
	for role, want := range map[a2a.Role]int{a2a.RoleUser: 0, a2a.RoleAgent: 1} {
		s := a2a.Status{State: a2a.StateSubmitted, Message: &a2a.Message{ID: "m1", Role: role, Parts: []a2a.Part{a2a.TextPart("hi")}}}
		for _, e := range []a2a.Event{{Status: &a2a.StatusUpdate{Status: s}}, {Task: &a2a.Task{ID: "t", Status: s}}} {
			var r Reader
			shown := 0
			for _, p := range r.Read(&e) {
				if p.Kind == KindMessage {
					shown++
				}
			}
			if shown != want {
				t.Errorf("a message of %d in %+v is shown %d times, want %d", role, e, shown, want)
			}
		}
	}
}
