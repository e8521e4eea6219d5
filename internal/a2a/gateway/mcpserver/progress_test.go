// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Events that arrive within one interval are sent as one notification, in which line
// breaks separate the texts of statuses from the output.
func TestProgressSeparatesStatusesFromOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		p := &progress{send: func(_ int, text string) error {
			got = append(got, text)
			return nil
		}}
		status := func(state a2a.State) {
			p.event(&a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: state}}})
		}
		output := func(text string) {
			p.event(&a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{Parts: []a2a.Part{a2a.TextPart(text)}}}})
		}
		status(a2a.StateSubmitted)
		status(a2a.StateWorking)
		output("Hello ")
		output("there")
		status(a2a.StateCompleted)
		output("late")
		time.Sleep(2 * progressInterval) // the clock is fake
		synctest.Wait()
		if want := []string{"submitted", "working\nHello there\ncompleted\nlate"}; !slices.Equal(got, want) {
			t.Errorf("progress = %q, want %q", got, want)
		}
	})
}
