// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"testing"
)

// TestWatchesFail is the campaign "watches" of docs/explanation/reliability.md. Watches of the
// operator lose events, delay them and end.
func TestWatchesFail(t *testing.T) {
	mishaps := []watchFault{dropped, delayed, brokenOff}
	runEverywhere(t, 31, func(want reference) []string {
		var names []string
		for at := range want.events {
			for _, m := range mishaps {
				names = append(names, fmt.Sprintf("%s %d", m, at))
			}
		}
		return names
	}, func(t *testing.T, w workload, want reference, i int) bool {
		b := newBench(t, w.namespace(), useJSON)
		b.prepare(w, want.made)
		b.transport.stream.arm(mishaps[i%len(mishaps)], i/len(mishaps))
		if err := w.act(t.Context(), b.user); err != nil {
			t.Fatal(err)
		}
		b.waitForEnd(want.state)
		b.expectQuiet(want.state, quietPeriod())
		_, met := b.transport.stream.events()
		return met
	})
}
