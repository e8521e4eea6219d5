// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// TestSizeOfAWaitingMessage checks that a message takes no more bytes in Redis, and while it is encoded, than those for which the engine reserves memory,
// whatever characters its client has chosen.
func TestSizeOfAWaitingMessage(t *testing.T) {
	for _, character := range []string{"a", "<", ">", "&", `"`, "\\", "\x00", "\u2028", "é"} {
		message := &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(strings.Repeat(character, 1<<16))}}
		change := &store.WaitingChange{Add: &store.WaitingMessage{Request: &a2a.SendRequest{Message: message}}}
		_, size, err := waitingArgs(change)
		if most := 2*change.Size() + 1<<10; err != nil || size > most {
			t.Errorf("%q: %d bytes, %v, want at most %d", character, size, err, most)
		}
	}
}
