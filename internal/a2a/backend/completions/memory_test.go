// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// TestAnswerReservesMemory reads answers in small events. They reserve memory as they grow, and end if there is none.
func TestAnswerReservesMemory(t *testing.T) {
	const pieces = 40
	piece := strings.Repeat("x", 30<<10)
	for name, event := range map[string]string{
		"text":  `data: {"choices":[{"delta":{"content":"` + piece + `"}}]}`,
		"calls": `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"` + piece + `"}}]}}]}`,
	} {
		end := "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
		for limit, want := range map[int64]string{1 << 30: "ended", 1 << 20: "failed: All memory is in use"} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				b := newModel(t, withModel(options{}), respondsWith("text/event-stream", strings.Repeat(event+"\n\n", pieces), end))
				turn := newTurn()
				var most int64
				turn.Reserve = func(bytes int64) error {
					if bytes > limit {
						return backend.Failed("All memory is in use", nil)
					}
					most = max(most, bytes)
					return nil
				}
				_, outcome := run(t, b, turn)
				if outcome != want {
					t.Errorf("the turn ends with %s, want %s", outcome, want)
				}
				if size := int64(pieces * len(piece)); limit > size && most < 3*size {
					t.Errorf("an answer of %d bytes reserves %d", size, most)
				}
			})
		}
	}
}
