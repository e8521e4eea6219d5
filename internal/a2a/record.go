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
	// encodings are those that are kept, the newest first.
	encodings atomic.Pointer[encoding]
}

// encoding is the event in one dialect. It never changes; others come before it.
type encoding struct {
	next    *encoding
	dialect Dialect
	bytes   []byte
}

// dropped stands for the encodings of a record that its log has let go of:
// none is kept any more, in no dialect.
var dropped = encoding{dialect: dialects}

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
const encodingOverhead = 48

// NewRecord returns a record that keeps its encodings in a room. A record that
// was made otherwise has none, and keeps nothing.
func NewRecord(seq uint64, e Event, room Room) *Record {
	return &Record{Seq: seq, Event: e, room: room}
}

// AppendRecords appends records of events behind the one numbered after. They
// lie side by side in memory, some at a time: most events are small, and come
// by the dozen.
func AppendRecords(dst []*Record, after uint64, events []Event, room Room) []*Record {
	const together = 31 // 2 KiB, with what the allocator puts before them
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
	return r.room != nil && r.room.Shared() || r.encodings.Load().in(d) != nil
}

// Encoded returns the event in a dialect. encode appends to its argument, and
// runs at most once per dialect in all but a race of first readers, as long as
// there is room.
func (r *Record) Encoded(d Dialect, encode func(dst []byte, e *Event) []byte) []byte {
	kept := r.encodings.Load()
	if e := kept.in(d); e != nil {
		return e.bytes
	}
	bytes := encode(nil, &r.Event)
	if r.room == nil || kept == &dropped || !r.room.Take(cost(bytes)) {
		return bytes
	}
	for e := (&encoding{dialect: d, bytes: bytes}); ; kept = r.encodings.Load() {
		if kept == &dropped || kept.in(d) != nil {
			r.room.Give(cost(bytes))
			return bytes
		}
		if e.next = kept; r.encodings.CompareAndSwap(kept, e) {
			return bytes
		}
	}
}

// in finds the encoding in a dialect.
func (e *encoding) in(d Dialect) *encoding {
	for ; e != nil; e = e.next {
		if e.dialect == d {
			return e
		}
	}
	return nil
}

// Forget drops the encodings, for a while in which nobody asks for them.
func (r *Record) Forget() { r.forget(nil) }

// Drop is what a log does to a record that it lets go of. Those who still read
// it find its event, and encode it for themselves.
func (r *Record) Drop() { r.forget(&dropped) }

// forget gives back the room of all encodings, which nobody finds any more.
func (r *Record) forget(instead *encoding) {
	kept := r.encodings.Load()
	for kept != instead && kept != &dropped {
		if !r.encodings.CompareAndSwap(kept, instead) {
			kept = r.encodings.Load()
			continue
		}
		for ; kept != nil; kept = kept.next {
			r.room.Give(cost(kept.bytes))
		}
		return
	}
}

func cost(encoding []byte) int64 { return int64(cap(encoding) + encodingOverhead) }
