// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"reflect"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Answers returns the messages of the agent in the history of its task that belong to a turn. sent
// is the message of the turn, and before the task that the turn continues, nil for a new task.
// Consecutive messages with one id are chunks of one message. If the history lacks the message of
// the turn, the turn begins after the newest message of the client.
func Answers(history []*a2a.Message, sent *a2a.Message, before *a2a.Task) []*a2a.Message {
	begin := slices.IndexFunc(history, func(m *a2a.Message) bool { return sent != nil && m.ID != "" && m.ID == sent.ID })
	if begin < 0 {
		for i, m := range history {
			if m.Role == a2a.RoleUser {
				begin = i
			}
		}
	}
	var all []*a2a.Message
	var last *a2a.Message
	for _, m := range history[begin+1:] {
		if IsFromClient(m, sent) || len(m.Parts) == 0 || isEarlier(m, before) {
			continue
		}
		switch n := len(all) - 1; {
		case n < 0 || m.ID == "" || m.ID != last.ID:
			all = append(all, m)
		case !reflect.DeepEqual(m.Parts, last.Parts):
			all[n] = Join(all[n], m)
		}
		last = m
	}
	return all
}

// IsFromClient reports whether a message that an agent has sent is one of its client: it has the role
// of the client, or the id of sent, the message of the turn. A nil message is not.
func IsFromClient(m, sent *a2a.Message) bool {
	return m != nil && (m.Role == a2a.RoleUser || m.ID != "" && sent != nil && m.ID == sent.ID)
}

// MessageOfAgent returns the message of a status, or nil if it is one of the client or says nothing. Some
// agents, such as those of a2a-sdk for Python, begin with a status that repeats the message of the
// turn, which the history of the task already has.
func MessageOfAgent(s *a2a.Status, sent *a2a.Message) *a2a.Message {
	m := s.Message
	if m == nil || IsFromClient(m, sent) || len(m.Parts) == 0 && len(m.Metadata) == 0 && len(m.Extensions) == 0 {
		return nil
	}
	return m
}

// isEarlier reports whether a task that a turn continues has a message.
func isEarlier(m *a2a.Message, before *a2a.Task) bool {
	if before == nil || m.ID == "" {
		return false
	}
	hasID := func(other *a2a.Message) bool { return other.ID == m.ID }
	said := before.Status.Message
	return said != nil && hasID(said) || slices.ContainsFunc(before.History, hasID)
}

// Join returns a message with the parts of two chunks of one message. Adjacent texts are one text.
func Join(first, second *a2a.Message) *a2a.Message {
	joined := *first
	joined.Parts = slices.Clone(first.Parts)
	for _, p := range second.Parts {
		n := len(joined.Parts) - 1
		if n >= 0 && isText(&joined.Parts[n]) && isText(&p) {
			joined.Parts[n].Text += p.Text
			continue
		}
		joined.Parts = append(joined.Parts, p)
	}
	return &joined
}

// isText reports whether a part has a text and nothing else.
func isText(p *a2a.Part) bool {
	return p.Content == a2a.ContentText && reflect.DeepEqual(*p, a2a.TextPart(p.Text))
}
