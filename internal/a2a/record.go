// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "sync/atomic"

// Dialect numbers a form in which events are encoded, so that each record
// keeps the bytes of each.
type Dialect uint8

// The dialects.
const (
	// DialectV03 is the JSON with kind discriminators of 0.2 and 0.3.
	DialectV03 Dialect = iota
	// DialectV10 is the ProtoJSON of 1.0.
	DialectV10
	// DialectV01 is the JSON of 0.1, whose parts have types.
	DialectV01
	// DialectV03Proto is the ProtoJSON of the package a2a.v1 (0.2.2 to 0.3).
	DialectV03Proto
	// DialectKindREST is the JSON of DialectV03 over REST, in frames that hold an
	// event twice.
	DialectKindREST
	// DialectV03GRPC and DialectV10GRPC are the messages of a2a.v1 and lf.a2a.v1.
	DialectV03GRPC
	DialectV10GRPC
	// DialectUnion is DialectV03 with what clients of DialectV01 look for.
	DialectUnion
	dialects
)

// Record is an event at its place in a task's log, with its encodings. It is
// shared by all subscribers and, but for the encodings, never changes.
type Record struct {
	// Seq counts from 1 in each task. A snapshot carries the number of the last
	// event that is folded into it.
	Seq uint64
	Event

	encoded [dialects]atomic.Pointer[[]byte]
}

// Encoded returns the event in a dialect. encode runs at most once per dialect
// in all but a race of first readers, and appends to its argument.
func (r *Record) Encoded(d Dialect, encode func(dst []byte, e *Event) []byte) []byte {
	if bytes := r.encoded[d].Load(); bytes != nil {
		return *bytes
	}
	bytes := encode(nil, &r.Event)
	if r.encoded[d].CompareAndSwap(nil, &bytes) {
		return bytes
	}
	return *r.encoded[d].Load()
}
