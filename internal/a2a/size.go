// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "encoding/base64"

// Estimated bytes of an object in addition to its content: member names in an encoding, and
// headers in memory. Memory bounds need no better estimate.
const (
	partOverhead     = 96
	messageOverhead  = 192
	artifactOverhead = 192
	statusOverhead   = 192
	pushOverhead     = 192
	stringOverhead   = 16
)

// Size estimates the bytes of a part, in memory or in JSON, whichever are more.
func (p *Part) Size() int {
	return partOverhead + textSize(p.Text) + base64.StdEncoding.EncodedLen(len(p.Raw)) + textSize(p.URL) + len(p.Data) +
		textSize(p.Filename) + textSize(p.MediaType) + len(p.Metadata)
}

// textSize returns the length of a text in JSON, without quotes. A control character has the
// form \u0000 there, so that a text may become six times as long.
func textSize(s string) int {
	n := len(s)
	for len(s) >= 8 {
		// Sizes are estimated several times for each message, so this looks at 8 characters at once. A subtraction sets the highest bit of
		// a character that is smaller. The difference of a quote and a space is 2, so that both tests of small characters are one.
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		control := (w ^ eachCharacter*('"'-' ')) - eachCharacter*(' '+1)
		backslash := (w ^ eachCharacter*'\\') - eachCharacter
		escaped := (control | backslash) &^ w
		if escaped&(eachCharacter<<7) != 0 {
			n += extra(s[:8])
		}
		s = s[8:]
	}
	return n + extra(s)
}

// eachCharacter is 1 in each of 8 characters.
const eachCharacter = 0x0101010101010101

// extra returns the number of bytes that the escapes of a text add.
func extra(s string) (n int) {
	for i := range len(s) {
		n += int(escapes[s[i]])
	}
	return n
}

// escapes has the number of bytes that a character needs in JSON in addition to its own.
var escapes = func() (extra [256]uint8) {
	for c := range ' ' {
		extra[c] = 5
	}
	for _, c := range "\b\t\n\f\r\"\\" {
		extra[c] = 1
	}
	return extra
}()

// Size estimates the bytes of a message; 0 for nil.
func (m *Message) Size() int {
	if m == nil {
		return 0
	}
	n := messageOverhead + len(m.Metadata)
	for i := range m.Parts {
		n += m.Parts[i].Size()
	}
	return n + StringsSize(m.ReferenceTasks) + StringsSize(m.Extensions)
}

// Size estimates the bytes of an artifact.
func (a *Artifact) Size() int {
	n := artifactOverhead + textSize(a.Name) + textSize(a.Description) + len(a.Metadata) + StringsSize(a.Extensions)
	for i := range a.Parts {
		n += a.Parts[i].Size()
	}
	return n
}

// Size estimates the bytes of a task; nil has none.
func (t *Task) Size() int {
	if t == nil {
		return 0
	}
	n := t.Status.Message.Size() + len(t.Metadata)
	for i := range t.Artifacts {
		n += t.Artifacts[i].Size()
	}
	for _, m := range t.History {
		n += m.Size()
	}
	return n
}

// Size estimates the bytes of the tasks of a page.
func (p *TaskPage) Size() (n int) {
	for _, t := range p.Tasks {
		n += t.Size()
	}
	return n
}

// Size estimates the bytes of an event.
func (e *Event) Size() int {
	switch {
	case e.Task != nil:
		return e.Task.Size()
	case e.Artifact != nil:
		return e.Artifact.Artifact.Size() + len(e.Artifact.Metadata)
	case e.Status != nil:
		return statusOverhead + e.Status.Status.Message.Size() + len(e.Status.Metadata) + len(e.Status.Note)
	default:
		return e.Message.Size()
	}
}

// Size estimates the bytes of a push configuration.
func (c PushConfig) Size() int {
	return pushOverhead + StringsSize([]string{c.ID, c.TaskID, c.URL, c.Token, c.Scheme, c.Credentials})
}

// Size estimates the bytes of the configurations of a page.
func (p *PushPage) Size() (n int) {
	for _, c := range p.Configs {
		n += c.Size()
	}
	return n
}

// StringsSize estimates the bytes of a list of strings.
func StringsSize(all []string) int {
	n := stringOverhead * len(all)
	for _, s := range all {
		n += textSize(s)
	}
	return n
}

// EachValue calls visit for each JSON text of a message.
func (m *Message) EachValue(visit func(text []byte)) {
	if m == nil {
		return
	}
	visit(m.Metadata)
	eachValueOf(m.Parts, visit)
}

// EachValue calls visit for each JSON text of an artifact.
func (a *Artifact) EachValue(visit func(text []byte)) {
	visit(a.Metadata)
	eachValueOf(a.Parts, visit)
}

// EachValue calls visit for each JSON text of a task; nil has none.
func (t *Task) EachValue(visit func(text []byte)) {
	if t == nil {
		return
	}
	visit(t.Metadata)
	t.Status.Message.EachValue(visit)
	for i := range t.Artifacts {
		t.Artifacts[i].EachValue(visit)
	}
	for _, m := range t.History {
		m.EachValue(visit)
	}
}

// EachValue calls visit for each JSON text of the tasks of a page.
func (p *TaskPage) EachValue(visit func(text []byte)) {
	for _, t := range p.Tasks {
		t.EachValue(visit)
	}
}

// EachValue calls visit for each JSON text of an event.
func (e *Event) EachValue(visit func(text []byte)) {
	switch {
	case e.Task != nil:
		e.Task.EachValue(visit)
	case e.Artifact != nil:
		visit(e.Artifact.Metadata)
		e.Artifact.Artifact.EachValue(visit)
	case e.Status != nil:
		visit(e.Status.Metadata)
		e.Status.Status.Message.EachValue(visit)
	default:
		e.Message.EachValue(visit)
	}
}

func eachValueOf(parts []Part, visit func(text []byte)) {
	for i := range parts {
		visit(parts[i].Data)
		visit(parts[i].Metadata)
	}
}
