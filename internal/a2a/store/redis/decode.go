// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// errFormat is the error for bytes that another program wrote, or that are damaged.
var errFormat = errors.New("stored bytes have an unknown format")

// reader decodes the bytes that writer encodes. It fails at the first byte that
// writer would not have written.
type reader struct {
	buf []byte
	own taskIDs
	err error
}

// readEvents decodes events. repeats reports for each event whether it is a status with the
// message of the status before it.
func readEvents(h taskIDs, encoded []byte) (events []a2a.Event, repeats []bool, err error) {
	r := reader{buf: encoded, own: h}
	r.version()
	n := r.count(3)
	events = make([]a2a.Event, 0, n)
	repeats = make([]bool, 0, n)
	for range n {
		e, again := r.event()
		events = append(events, e)
		repeats = append(repeats, again)
	}
	return events, repeats, r.end()
}

func readTask(encoded []byte) (*a2a.Task, error) {
	r := reader{buf: encoded}
	r.version()
	t := &a2a.Task{Dialect: a2a.Dialect(r.byte())}
	t.Status.State = r.state()
	t.ID = r.text()
	t.ContextID = r.text()
	r.own = taskIDs{t.ID, t.ContextID}
	t.Status.Time = r.time()
	t.Status.Message = r.optionalMessage()
	if n, present := r.length(5); present {
		t.Artifacts = make([]a2a.Artifact, n)
		for i := range n {
			t.Artifacts[i] = r.artifact()
		}
	}
	if n, present := r.length(6); present {
		t.History = make([]*a2a.Message, n)
		for i := range n {
			t.History[i] = r.message()
		}
	}
	t.Metadata = r.bytes()
	t.Note = r.text()
	return t, r.end()
}

func readMessage(encoded []byte) (*a2a.Message, error) {
	r := reader{buf: encoded}
	r.version()
	m := r.message()
	return m, r.end()
}

func (r *reader) event() (e a2a.Event, repeats bool) {
	switch r.byte() {
	case kindMessage:
		return a2a.Event{Message: r.message()}, false
	case kindStatus:
		set := r.flags(flagTask | flagContext | flagPaused | flagRepeats)
		u := &a2a.StatusUpdate{Paused: set&flagPaused != 0}
		u.Status.State = r.state()
		u.TaskID, u.ContextID = r.readIDs(set)
		u.Status.Time = r.time()
		u.Status.Message = r.optionalMessage()
		u.Metadata = r.bytes()
		u.Note = r.text()
		repeats = set&flagRepeats != 0
		r.require(!repeats || u.Status.Message != nil)
		return a2a.Event{Status: u}, repeats
	case kindArtifact:
		set := r.flags(flagTask | flagContext | flagAppend | flagJoinText | flagLastChunk)
		u := &a2a.ArtifactUpdate{
			Append: set&flagAppend != 0, JoinText: set&flagJoinText != 0, LastChunk: set&flagLastChunk != 0,
		}
		u.TaskID, u.ContextID = r.readIDs(set)
		u.Index = r.number()
		u.Artifact = r.artifact()
		u.Metadata = r.bytes()
		return a2a.Event{Artifact: u}, false
	default:
		r.fail()
		return a2a.Event{}, false
	}
}

func (r *reader) artifact() (a a2a.Artifact) {
	a.ID = r.text()
	a.Name = r.text()
	a.Description = r.text()
	a.Parts = r.parts()
	a.Metadata = r.bytes()
	a.Extensions = r.texts()
	return a
}

func (r *reader) optionalMessage() *a2a.Message {
	switch r.byte() {
	case 0:
		return nil
	case 1:
		return r.message()
	default:
		r.fail()
		return nil
	}
}

func (r *reader) message() *a2a.Message {
	set := r.flags(flagTask | flagContext)
	m := &a2a.Message{Role: a2a.Role(r.byte())}
	r.require(m.Role <= a2a.RoleAgent)
	m.TaskID, m.ContextID = r.readIDs(set)
	m.ID = r.text()
	m.Parts = r.parts()
	m.Metadata = r.bytes()
	m.Extensions = r.texts()
	m.ReferenceTasks = r.texts()
	return m
}

func (r *reader) parts() []a2a.Part {
	n, present := r.length(2)
	if !present {
		return nil
	}
	parts := make([]a2a.Part, n)
	for i := range parts {
		p := &parts[i]
		head := r.byte()
		p.Content = a2a.Content(head & contents)
		switch p.Content {
		case a2a.ContentText:
			p.Text = r.text()
		case a2a.ContentRaw:
			p.Raw = r.bytes()
		case a2a.ContentURL:
			p.URL = r.text()
		case a2a.ContentData:
			p.Data = r.bytes()
		default:
			r.require(p.Content == 0 && r.byte() == 0)
		}
		if head&partFilename != 0 {
			p.Filename = r.text()
			r.require(p.Filename != "")
		}
		if head&partMediaType != 0 {
			p.MediaType = r.text()
			r.require(p.MediaType != "")
		}
		if head&partMetadata != 0 {
			p.Metadata = r.bytes()
			r.require(p.Metadata != nil)
		}
		r.require(head < partMetadata<<1)
		if r.err != nil {
			return nil
		}
	}
	return parts
}

func (r *reader) texts() []string {
	n, present := r.length(1)
	if !present {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = r.text()
	}
	return all
}

func (r *reader) readIDs(set byte) (taskID, contextID string) {
	taskID = r.own.taskID
	contextID = r.own.contextID
	if set&flagTask == 0 {
		taskID = r.text()
		r.require(taskID != r.own.taskID)
	}
	if set&flagContext == 0 {
		contextID = r.text()
		r.require(contextID != r.own.contextID)
	}
	return taskID, contextID
}

func (r *reader) version() {
	if got := r.byte(); r.err == nil && got != formatV1 {
		r.err = fmt.Errorf("%w: %d, this build reads %d", errFormat, got, formatV1)
	}
}

func (r *reader) flags(known byte) byte {
	set := r.byte()
	r.require(set&^known == 0)
	return set
}

func (r *reader) state() a2a.State {
	s := a2a.State(r.byte())
	r.require(s <= a2a.StateRejected)
	return s
}

func (r *reader) text() string { return string(r.take(r.count(1))) }

// bytes returns a copy, so that a value does not keep a whole reply in memory.
func (r *reader) bytes() []byte {
	n, present := r.length(1)
	if !present {
		return nil
	}
	return append(make([]byte, 0, n), r.take(n)...)
}

// length returns the length of a value that may be absent. An element of the value takes at
// least `each` bytes of the encoding, so that a false length cannot cause an allocation that
// is much larger than the encoding.
func (r *reader) length(each int) (n int, present bool) {
	v := r.uvarint()
	if v == 0 {
		return 0, false
	}
	return r.bounded(v-1, each), true
}

func (r *reader) count(each int) int { return r.bounded(r.uvarint(), each) }

func (r *reader) bounded(n uint64, each int) int {
	if n > uint64(len(r.buf)/each) { // not negative
		r.fail()
		return 0
	}
	return int(n) // the comparison above bounds it
}

// number returns an index. Unlike a length, it does not count the bytes that follow.
func (r *reader) number() int {
	n := r.uvarint()
	if n > 1<<31 {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) time() time.Time {
	seconds, n := binary.Varint(r.buf)
	r.advance(n)
	r.require(n > 0 && n == len(binary.AppendVarint(nil, seconds)))
	nanos := r.uvarint()
	r.require(nanos < uint64(time.Second))
	if r.err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos)).UTC() // below 1e9
}

// uvarint accepts the shortest encoding only.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.buf)
	r.advance(n)
	r.require(n == 1 || n > 1 && v>>(7*(n-1)) != 0)
	return v
}

func (r *reader) byte() byte {
	if r.err != nil || len(r.buf) == 0 {
		r.fail()
		return 0
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n > len(r.buf) {
		r.fail()
		return nil
	}
	taken := r.buf[:n]
	r.buf = r.buf[n:]
	return taken
}

func (r *reader) advance(n int) {
	if n <= 0 {
		r.fail()
		return
	}
	r.buf = r.buf[n:]
}

func (r *reader) require(ok bool) {
	if !ok {
		r.fail()
	}
}

// fail sets the error and drops the rest, so that all later reads fail fast.
func (r *reader) fail() {
	if r.err == nil {
		r.err = errFormat
	}
	r.buf = nil
}

func (r *reader) end() error {
	r.require(len(r.buf) == 0)
	return r.err
}
