// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"strconv"
	"strings"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Frame says how a stream's records become data lines.
type Frame struct {
	// Dialect and Append encode an event. Its bytes are shared by all streams
	// of the dialect.
	Dialect a2a.Dialect
	Append  func(dst []byte, e *a2a.Event) []byte
	// Event names the events; "" leaves them without a name, as all but errors
	// are.
	Event string
	// Prefix and Suffix surround each event: a JSON-RPC envelope, or nothing.
	Prefix, Suffix []byte
	// Unnumbered leaves out the numbers of events, for clients that expect each
	// event to begin with its data.
	Unnumbered bool
}

// scratches hold what is encoded until its size is known, so that what a log
// keeps is no larger than it must be.
var scratches = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

const maxPooled = 256 << 10

// Encoded returns the event's bytes, which all streams of a dialect share.
func (f *Frame) Encoded(record *a2a.Record) []byte {
	return record.Encoded(f.Dialect, func(dst []byte, e *a2a.Event) []byte {
		scratch := scratches.Get().(*[]byte)
		text := f.Append((*scratch)[:0], e)
		dst = append(dst, text...)
		if cap(text) <= maxPooled {
			*scratch = text
			scratches.Put(scratch)
		}
		return dst
	})
}

// After reads the number of the last event that a client has seen from a
// Last-Event-ID header; nil when there is none or it is not one of ours.
func After(lastEventID string) *uint64 {
	if i := strings.LastIndexByte(lastEventID, ':'); i >= 0 {
		lastEventID = lastEventID[i+1:]
	}
	seq, err := strconv.ParseUint(lastEventID, 10, 64)
	if err != nil {
		return nil
	}
	return &seq
}

// appendHead appends what precedes an event's bytes.
func (f *Frame) appendHead(dst []byte, seq uint64) []byte {
	if seq > 0 && !f.Unnumbered {
		dst = append(dst, "id: "...)
		dst = strconv.AppendUint(dst, seq, 10)
		dst = append(dst, '\n')
	}
	if f.Event != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, f.Event...)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	return append(dst, f.Prefix...)
}

// appendTail appends what follows an event's bytes.
func (f *Frame) appendTail(dst []byte) []byte {
	dst = append(dst, f.Suffix...)
	return append(dst, "\n\n"...)
}
