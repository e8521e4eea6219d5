// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "sync/atomic"

// Event is one entry of a task's log, a snapshot of a task, or the agent's answer to a
// message without a task. Exactly one of its fields is set.
type Event struct {
	// Task is a snapshot: the first event of a stream, or a task that an agent sent as a
	// whole. A log never contains one.
	Task *Task
	// Message is a message of the client if the event is in a log, and otherwise the
	// agent's answer without a task.
	Message *Message
	// Status is a new status of the task.
	Status *StatusUpdate
	// Artifact is a new artifact, or more content of one.
	Artifact *ArtifactUpdate
}

// StatusUpdate changes a task's status.
type StatusUpdate struct {
	TaskID    string
	ContextID string
	Status    Status
	// Paused is true if the task is interrupted and the run of the agent stays
	// connected until the client answers. Versions up to 0.3 encode it as final:false.
	Paused   bool
	Metadata Object
	// Note replaces Task.Note; "" keeps it.
	Note string
}

// Final reports whether the update ends the stream of a message: the task has ended, or
// requires input and no run stays connected. A task that requires authentication keeps the
// stream open, because the client authenticates out of band. Versions up to 0.3 encode it as
// the member final.
func (u *StatusUpdate) Final() bool {
	return u.Status.State.Terminal() || u.Status.State == StateInputRequired && !u.Paused
}

// ArtifactUpdate adds, extends or replaces an artifact.
type ArtifactUpdate struct {
	TaskID    string
	ContextID string
	Artifact  Artifact
	// Index is the position of the artifact among the artifacts of the task, from 0, in
	// the order of their first updates. The log sets it.
	Index int
	// Append adds the parts to the artifact with the same id. Without Append, the update
	// replaces this artifact. If the task has no artifact with this id, the update adds one
	// in either case.
	Append bool
	// JoinText appends plain text of this update to the last text part of the artifact
	// instead of adding a part. It affects the task only, not the update on the wire.
	JoinText  bool
	LastChunk bool
	Metadata  Object
}

// Record is an event with its number in a task's log and its cached encodings. All
// subscribers share it. Only the encodings change, under atomic operations.
type Record struct {
	// Seq counts from 1 in each task. The Seq of a snapshot is the number of the last event
	// that is folded into it.
	Seq uint64
	Event

	room Room
	// encodings is the list of cached encodings, the newest first.
	encodings atomic.Pointer[encoding]
}

// encoding has the bytes of the event in one dialect. It is immutable.
type encoding struct {
	next    *encoding
	dialect Dialect
	bytes   []byte
}

// dropped replaces the list of encodings when Drop is called. From then on, the record
// caches no encoding.
var dropped = encoding{dialect: dialects}

// Room is the memory budget of cached encodings. Its methods do not block.
type Room interface {
	// Take reserves bytes and reports whether the budget had them.
	Take(bytes int64) bool
	// Give returns reserved bytes.
	Give(bytes int64)
	// Shared reports whether the log has more than one reader.
	Shared() bool
}

// encodingOverhead estimates the bytes of an encoding in addition to its content.
const encodingOverhead = 48

// NewRecord returns a record that caches its encodings within the budget room. If room is
// nil, it caches none.
func NewRecord(seq uint64, e Event, room Room) *Record {
	return &Record{Seq: seq, Event: e, room: room}
}

// AppendRecords appends one record for each event to dst. The first record has the number
// after+1. It allocates up to 31 records at once, because most events are small and
// arrive in groups.
func AppendRecords(dst []*Record, after uint64, events []Event, room Room) []*Record {
	const together = 31 // 2 KiB, including the allocator's header
	for len(events) > 0 {
		some := make([]Record, min(len(events), together))
		for i := range some {
			after++
			some[i].Seq = after
			some[i].Event = events[i]
			some[i].room = room
			dst = append(dst, &some[i])
		}
		events = events[len(some):]
	}
	return dst
}

// Shared reports whether a reader should call Encoded: the log has several readers, or
// the encoding in a dialect is cached already. Otherwise, the reader is the only one of its
// log, and encodes into its own buffer.
func (r *Record) Shared(d Dialect) bool {
	return r.room != nil && r.room.Shared() || r.Cached(d)
}

// Cached reports whether the encoding in a dialect is cached.
func (r *Record) Cached(d Dialect) bool { return r.encodings.Load().in(d) != nil }

// Encoded returns the encoding of the event in a dialect, and caches it. encode appends
// the encoding to dst. Encoded calls encode once per dialect, except if the first readers
// race, if the budget has no room, or after Forget or Drop.
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
		e.next = kept
		if r.encodings.CompareAndSwap(kept, e) {
			return bytes
		}
	}
}

// in returns the encoding in a dialect, or nil.
func (e *encoding) in(d Dialect) *encoding {
	for ; e != nil; e = e.next {
		if e.dialect == d {
			return e
		}
	}
	return nil
}

// Forget drops the cached encodings. Later readers cache them again.
func (r *Record) Forget() { r.forget(nil) }

// Drop drops the cached encodings for good. A log calls it when it trims the record;
// readers that still have the record encode its event themselves.
func (r *Record) Drop() { r.forget(&dropped) }

// forget replaces the list of encodings and returns its bytes to the budget.
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
