// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
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
	for _, m := range backend.Newest(t.History) {
		e := completions.Message{Role: completions.RoleUser}
		if m.Role == a2a.RoleAgent {
			e.Role = completions.RoleAssistant
		}
		for i := range m.Parts {
			// The conversation omits a part of the history that the model cannot read.
			_ = e.Add(&m.Parts[i], b.checkFile)
		}
		all = appendMessage(all, e)
	}
	now := completions.Message{Role: completions.RoleUser}
	for i := range t.Message.Parts {
		if problem := now.Add(&t.Message.Parts[i], b.checkFile); problem != "" {
			return nil, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return appendMessage(all, now), nil
}

func appendMessage(all []completions.Message, e completions.Message) []completions.Message {
	switch last := len(all) - 1; {
	case len(e.Text) == 0 && len(e.Images) == 0:
		return all
	case last >= 0 && all[last].Role == e.Role:
		all[last].Text = append(all[last].Text, e.Text...)
		all[last].Images = append(all[last].Images, e.Images...)
		return all
	default:
		return append(all, e)
	}
}
