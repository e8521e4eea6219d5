// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"testing"
)

// TestWatchesFail loses, delays and breaks off what the operator is told: C4 of
// the reliability plan, and a part of C5.
func TestWatchesFail(t *testing.T) {
	mishaps := []mishap{dropped, delayed, brokenOff}
	everywhere(t, 31, func(want reference) []string {
		var names []string
		for at := range want.events {
			for _, m := range mishaps {
				names = append(names, fmt.Sprintf("%s %d", m, at))
			}
		}
		return names
	}, func(t *testing.T, w workload, want reference, i int) bool {
		b := newBench(t, w.namespace(), speaksJSON)
		b.prepare(w, want.made)
		b.transport.stream.arm(mishaps[i%len(mishaps)], i/len(mishaps))
		if err := w.act(t.Context(), b.user); err != nil {
			t.Fatal(err)
		}
		b.reaches(want.state)
		b.rests(want.state, stillness())
		_, met := b.transport.stream.events()
		return met
	})
}
