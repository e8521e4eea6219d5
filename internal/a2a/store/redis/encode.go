// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"encoding/binary"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// formatV1 is the first byte of every encoded value. A program refuses an unknown
// version instead of misreading it.
const formatV1 = 1

// Kinds of events.
const (
	kindMessage = iota + 1
	kindStatus
	kindArtifact
)

// Flags of events.
const (
	// flagTask and flagContext mean that the ids of the event equal the ids of the
	// task and are omitted.
	flagTask = 1 << iota
	flagContext
	flagPaused
	// flagRepeats means that the status has the same message as the status before.
	flagRepeats
	flagAppend
	flagJoinText
	flagLastChunk
)

// taskIDs are the ids that the encoded events of a task omit.
type taskIDs struct{ taskID, contextID string }

// writer appends values. Numbers are varints, texts follow their length, and values
// that may be nil follow their length plus one.
type writer struct {
	buf []byte
	own taskIDs
}

// writeEvents encodes events of a task. said is the message of the status before
// them.
func writeEvents(h taskIDs, events []a2a.Event, said *a2a.Message) []byte {
	size := 0
	for i := range events {
		size += events[i].Size()
	}
	w := writer{buf: make([]byte, 0, size), own: h}
	w.buf = append(w.buf, formatV1)
	w.count(len(events))
	for i := range events {
		said = w.event(&events[i], said)
	}
	return w.buf
}

// writeTask encodes a task.
func writeTask(t *a2a.Task) []byte {
	w := writer{own: taskIDs{t.ID, t.ContextID}}
	w.buf = append(w.buf, formatV1, byte(t.Dialect), byte(t.Status.State))
	w.text(t.ID)
	w.text(t.ContextID)
	w.time(t.Status.Time)
	w.optionalMessage(t.Status.Message)
	w.length(len(t.Artifacts), t.Artifacts == nil)
	for i := range t.Artifacts {
		w.artifact(&t.Artifacts[i])
	}
	w.length(len(t.History), t.History == nil)
	for _, m := range t.History {
		w.message(m)
	}
	w.bytes(t.Metadata)
	w.text(t.Note)
	return w.buf
}

// writeMessage encodes a message of a conversation.
func writeMessage(m *a2a.Message) []byte {
	w := writer{buf: []byte{formatV1}}
	w.message(m)
	return w.buf
}

// event encodes an event and returns the message of the status after it.
func (w *writer) event(e *a2a.Event, said *a2a.Message) *a2a.Message {
	switch {
	case e.Message != nil:
		w.buf = append(w.buf, kindMessage)
		w.message(e.Message)
		return nil
	case e.Status != nil:
		u := e.Status
		set := w.idFlags(u.TaskID, u.ContextID)
		if u.Paused {
			set |= flagPaused
		}
		if u.Status.Message != nil && u.Status.Message == said {
			set |= flagRepeats
		}
		w.buf = append(w.buf, kindStatus, set, byte(u.Status.State))
		w.idsUnless(set, u.TaskID, u.ContextID)
		w.time(u.Status.Time)
		w.optionalMessage(u.Status.Message)
		w.bytes(u.Metadata)
		w.text(u.Note)
		return u.Status.Message
	default:
		u := e.Artifact
		set := w.idFlags(u.TaskID, u.ContextID)
		if u.Append {
			set |= flagAppend
		}
		if u.JoinText {
			set |= flagJoinText
		}
		if u.LastChunk {
			set |= flagLastChunk
		}
		w.buf = append(w.buf, kindArtifact, set)
		w.idsUnless(set, u.TaskID, u.ContextID)
		w.count(u.Index)
		w.artifact(&u.Artifact)
		w.bytes(u.Metadata)
		return said
	}
}

// idFlags returns the flags of the omitted ids.
func (w *writer) idFlags(taskID, contextID string) (set byte) {
	if taskID == w.own.taskID {
		set |= flagTask
	}
	if contextID == w.own.contextID {
		set |= flagContext
	}
	return set
}

func (w *writer) idsUnless(set byte, taskID, contextID string) {
	if set&flagTask == 0 {
		w.text(taskID)
	}
	if set&flagContext == 0 {
		w.text(contextID)
	}
}

func (w *writer) artifact(a *a2a.Artifact) {
	w.text(a.ID)
	w.text(a.Name)
	w.text(a.Description)
	w.parts(a.Parts)
	w.bytes(a.Metadata)
	w.texts(a.Extensions)
}

func (w *writer) optionalMessage(m *a2a.Message) {
	if m == nil {
		w.buf = append(w.buf, 0)
		return
	}
	w.buf = append(w.buf, 1)
	w.message(m)
}

func (w *writer) message(m *a2a.Message) {
	set := w.idFlags(m.TaskID, m.ContextID)
	w.buf = append(w.buf, set, byte(m.Role))
	w.idsUnless(set, m.TaskID, m.ContextID)
	w.text(m.ID)
	w.parts(m.Parts)
	w.bytes(m.Metadata)
	w.texts(m.Extensions)
	w.texts(m.ReferenceTasks)
}

// Flags of parts: the members other than the content.
const (
	partFilename = 1 << (iota + 4)
	partMediaType
	partMetadata
	// contents masks the content.
	contents = 1<<4 - 1
)

func (w *writer) parts(parts []a2a.Part) {
	w.length(len(parts), parts == nil)
	for i := range parts {
		p := &parts[i]
		head := byte(p.Content)
		if p.Filename != "" {
			head |= partFilename
		}
		if p.MediaType != "" {
			head |= partMediaType
		}
		if p.Metadata != nil {
			head |= partMetadata
		}
		w.buf = append(w.buf, head)
		switch p.Content {
		case a2a.ContentText:
			w.text(p.Text)
		case a2a.ContentRaw:
			w.bytes(p.Raw)
		case a2a.ContentURL:
			w.text(p.URL)
		case a2a.ContentData:
			w.bytes(p.Data)
		default:
			w.buf = append(w.buf, 0)
		}
		if head&partFilename != 0 {
			w.text(p.Filename)
		}
		if head&partMediaType != 0 {
			w.text(p.MediaType)
		}
		if head&partMetadata != 0 {
			w.bytes(p.Metadata)
		}
	}
}

func (w *writer) texts(all []string) {
	w.length(len(all), all == nil)
	for _, s := range all {
		w.text(s)
	}
}

func (w *writer) text(s string) {
	w.count(len(s))
	w.buf = append(w.buf, s...)
}

func (w *writer) bytes(b []byte) {
	w.length(len(b), b == nil)
	w.buf = append(w.buf, b...)
}

func (w *writer) length(n int, absent bool) {
	if absent {
		w.count(0)
		return
	}
	w.count(n + 1)
}

func (w *writer) count(n int) {
	w.buf = binary.AppendUvarint(w.buf, uint64(n)) // lengths and places are not negative
}

// time writes seconds and nanoseconds; the zero time is year 1.
func (w *writer) time(t time.Time) {
	w.buf = binary.AppendVarint(w.buf, t.Unix())
	w.count(t.Nanosecond())
}
