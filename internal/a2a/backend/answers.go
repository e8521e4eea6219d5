// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"reflect"
	"slices"
	"strings"

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
	var all []Chunks
	var last *a2a.Message
	for _, m := range history[begin+1:] {
		if IsFromClient(m, sent) || len(m.Parts) == 0 || isEarlier(m, before) {
			continue
		}
		switch n := len(all) - 1; {
		case n < 0 || m.ID == "" || m.ID != last.ID:
			all = append(all, Chunks{})
			all[n+1].Add(m)
		case !reflect.DeepEqual(m.Parts, last.Parts):
			all[n].Add(m)
		}
		last = m
	}
	var answers []*a2a.Message
	for i := range all {
		answers = append(answers, all[i].Message())
	}
	return answers
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

// Chunks are chunks of one message. The zero value has none.
type Chunks struct {
	joined *a2a.Message
	// rest are further chunks, with no more memory than joined: to join each one at once would copy the whole text for each.
	rest []*a2a.Message
	// sizeJoined and sizeRest are their sizes.
	sizeJoined, sizeRest int
}

// Add adds a chunk.
func (c *Chunks) Add(chunk *a2a.Message) {
	if c.joined == nil {
		c.joined = chunk
		c.sizeJoined = chunk.Size()
		return
	}
	c.rest = append(c.rest, chunk)
	c.sizeRest += chunk.Size()
	if c.sizeRest >= c.sizeJoined {
		c.join()
	}
}

// IsEmpty reports whether there are no chunks.
func (c *Chunks) IsEmpty() bool { return c.joined == nil }

// Message returns a message with the parts of all chunks, nil for none. Adjacent texts are one text.
func (c *Chunks) Message() *a2a.Message {
	c.join()
	return c.joined
}

func (c *Chunks) join() {
	if len(c.rest) == 0 {
		return
	}
	joined := *c.joined
	joined.Parts = slices.Clone(joined.Parts)
	var text strings.Builder
	for _, m := range c.rest {
		for _, p := range m.Parts {
			last := len(joined.Parts) - 1
			if !isText(&p) || last < 0 || !isText(&joined.Parts[last]) {
				setText(joined.Parts, &text)
				joined.Parts = append(joined.Parts, p)
				continue
			}
			if text.Len() == 0 {
				text.WriteString(joined.Parts[last].Text)
			}
			text.WriteString(p.Text)
		}
	}
	setText(joined.Parts, &text)
	c.joined = &joined
	c.rest = nil
	c.sizeJoined = joined.Size()
	c.sizeRest = 0
}

// setText replaces the text of the last part, unless the new text is empty.
func setText(parts []a2a.Part, text *strings.Builder) {
	if text.Len() > 0 {
		parts[len(parts)-1].Text = text.String()
		text.Reset()
	}
}

// isText reports whether a part has a text and nothing else.
func isText(p *a2a.Part) bool {
	return p.Content == a2a.ContentText && reflect.DeepEqual(*p, a2a.TextPart(p.Text))
}
