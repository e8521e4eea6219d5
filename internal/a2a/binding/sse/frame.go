// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"strconv"
	"strings"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Frame says how records become server-sent events.
type Frame struct {
	// Dialect and Append encode an event. All streams of a dialect share the
	// encoded bytes.
	Dialect a2a.Dialect
	Append  func(dst []byte, e *a2a.Event) []byte
	// Event is the value of the event field; "" omits the field. Only errors
	// have one.
	Event string
	// Prefix and Suffix surround each encoded event, as a JSON-RPC envelope does.
	Prefix, Suffix []byte
	// Unnumbered omits the id field, for clients that expect each event to begin
	// with its data.
	Unnumbered bool
}

// encodeBuffers hold an event while its size is unknown, so that the log keeps
// no more bytes than the event has.
var encodeBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// maxPooled is the capacity above which a buffer is not kept, in bytes.
const maxPooled = 256 << 10

// Encoded returns the encoded event of a record. All streams of a dialect share
// the result.
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

// ParseLastEventID returns the number of the last event that a client received,
// from its Last-Event-ID header. It returns nil if the header is missing or does
// not end in a number. A prefix up to a colon is ignored.
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

// appendHead appends what precedes the encoded event; seq 0 has no id field.
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

// appendTail appends what follows the encoded event.
func (f *Frame) appendTail(dst []byte) []byte {
	dst = append(dst, f.Suffix...)
	return append(dst, "\n\n"...)
}
