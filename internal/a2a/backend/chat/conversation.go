// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// conversation returns the messages to the model: the prompt, the history, and the
// message of the turn. It merges consecutive messages of one role, because the templates
// of many models require alternating roles.
func (b *Backend) conversation(t *backend.Turn) ([]completions.Message, error) {
	var all []completions.Message
	if b.prompt != "" {
		all = append(all, completions.Message{Role: completions.RoleSystem, Text: []string{b.prompt}})
	}
	all = append(all, completions.History(backend.Newest(t.History), b.checkFile)...)
	now := completions.Message{Role: completions.RoleUser}
	for i := range t.Message.Parts {
		if problem := now.Add(&t.Message.Parts[i], b.checkFile); problem != "" {
			return nil, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return completions.Append(all, now), nil
}
