// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"strconv"
	"strings"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Frame has the settings with which records are encoded as server-sent events.
type Frame struct {
	// Dialect names the encoding of an event, and Append appends it. All streams of a
	// dialect share the encoded bytes.
	Dialect a2a.Dialect
	Append  func(dst []byte, e *a2a.Event) []byte
	// Event is the value of the event field; "" omits the field. Only the frames of errors
	// have an event field.
	Event string
	// Prefix and Suffix surround each encoded event, as a JSON-RPC envelope does.
	Prefix, Suffix []byte
	// Unnumbered omits the id field, for clients that expect each event to begin
	// with its data.
	Unnumbered bool
}

// encodeBuffers hold an event while its size is unknown. The record then caches a copy with
// exactly the size of the event.
var encodeBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// maxPooled is the largest capacity of a buffer that is returned to its pool, in bytes.
const maxPooled = 256 << 10

// Encoded returns the encoded event of a record. All streams of a dialect share the
// returned bytes.
func (f *Frame) Encoded(record *a2a.Record) []byte {
	return record.Encoded(f.Dialect, func(dst []byte, e *a2a.Event) []byte {
		buffer := encodeBuffers.Get().(*[]byte)
		text := f.Append((*buffer)[:0], e)
		dst = append(dst, text...)
		if cap(text) <= maxPooled {
			*buffer = text
			encodeBuffers.Put(buffer)
		}
		return dst
	})
}

// ParseLastEventID returns the number of the last event that a client received, from its
// Last-Event-ID header. It returns nil if the header is missing or does not end in a
// number. It ignores a prefix up to the last colon.
func ParseLastEventID(header string) *uint64 {
	if i := strings.LastIndexByte(header, ':'); i >= 0 {
		header = header[i+1:]
	}
	seq, err := strconv.ParseUint(header, 10, 64)
	if err != nil {
		return nil
	}
	return &seq
}

// appendHead appends the bytes before the encoded event. For seq 0, they contain no id
// field.
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

// appendTail appends the bytes after the encoded event.
func (f *Frame) appendTail(dst []byte) []byte {
	dst = append(dst, f.Suffix...)
	return append(dst, "\n\n"...)
}
