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

	room Room
	// dropped is true once the log has let go of the record.
	dropped atomic.Bool
	encoded [dialects]atomic.Pointer[[]byte]
}

// Room is where encodings are kept. Its methods do not block.
type Room interface {
	// Take takes room for so many bytes, and reports whether there was enough.
	Take(bytes int64) bool
	// Give gives it back.
	Give(bytes int64)
	// Shared reports whether there are readers to share what is kept.
	Shared() bool
}

// encodingOverhead is what an encoding costs beside its bytes.
const encodingOverhead = 32

// NewRecord returns a record that keeps its encodings in a room. A record that
// was made otherwise has none, and keeps nothing.
func NewRecord(seq uint64, e Event, room Room) *Record {
	return &Record{Seq: seq, Event: e, room: room}
}

// AppendRecords appends records of events behind the one numbered after. They
// lie side by side in memory, some at a time: most events are small, and come
// by the dozen.
func AppendRecords(dst []*Record, after uint64, events []Event, room Room) []*Record {
	const together = 32
	for len(events) > 0 {
		some := make([]Record, min(len(events), together))
		for i := range some {
			after++
			some[i].Seq, some[i].Event, some[i].room = after, events[i], room
			dst = append(dst, &some[i])
		}
		events = events[len(some):]
	}
	return dst
}

// Shared reports whether the event's encoding in a dialect is one for several
// readers. The only reader of a log need not have it kept.
func (r *Record) Shared(d Dialect) bool {
	return r.room != nil && r.room.Shared() || r.encoded[d].Load() != nil
}

// Encoded returns the event in a dialect. encode appends to its argument, and
// runs at most once per dialect in all but a race of first readers, as long as
// there is room.
func (r *Record) Encoded(d Dialect, encode func(dst []byte, e *Event) []byte) []byte {
	if bytes := r.encoded[d].Load(); bytes != nil {
		return *bytes
	}
	bytes := encode(nil, &r.Event)
	if r.room == nil || r.dropped.Load() || !r.room.Take(cost(bytes)) {
		return bytes
	}
	if !r.encoded[d].CompareAndSwap(nil, &bytes) {
		r.room.Give(cost(bytes))
		return bytes
	}
	// Whoever takes an encoding out of its place gives back what it takes. Drop
	// may have passed this place a moment ago.
	if r.dropped.Load() {
		r.forget(d)
	}
	return bytes
}

// Forget drops the encodings, for a while in which nobody asks for them.
func (r *Record) Forget() {
	for d := range dialects {
		r.forget(d)
	}
}

// Drop is what a log does to a record that it lets go of. Those who still read
// it find its event, and encode it for themselves.
func (r *Record) Drop() {
	r.dropped.Store(true)
	r.Forget()
}

func (r *Record) forget(d Dialect) {
	if r.encoded[d].Load() == nil {
		return
	}
	if bytes := r.encoded[d].Swap(nil); bytes != nil {
		r.room.Give(cost(*bytes))
	}
}

func cost(encoding []byte) int64 { return int64(cap(encoding) + encodingOverhead) }
