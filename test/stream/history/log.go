// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"maps"
	"slices"
)

// log is the log of a task, merged from the numbered streams of all readers.
type log struct {
	events map[uint64]*Event
	// seqs contains the numbers of all events, and chunks the numbers of chunks, both in ascending order.
	seqs, chunks []uint64
	// whole is true if a reader read the log from its beginning after the task had ended.
	whole bool
}

// gather merges the events of the numbered streams.
func (c *check) gather() {
	c.log.events = map[uint64]*Event{}
	for i := range c.Streams {
		c.log.whole = c.log.whole || c.Streams[i].Client == Audit && c.Streams[i].Outcome == Ended
		for j := range c.Streams[i].Events {
			e := &c.Streams[i].Events[j]
			if e.Seq == 0 || e.Kind == Snapshot || e.Kind == Standing {
				continue
			}
			if other := c.log.events[e.Seq]; other == nil {
				c.log.events[e.Seq] = e
			} else if *other != *e {
				c.violationf(Diverged, "%v got %v, and another reader %v", &c.Streams[i], e, other)
			}
		}
	}
	c.log.seqs = slices.Sorted(maps.Keys(c.log.events))
	c.order()
}

// order checks the merged log.
func (c *check) order() {
	next, ends := 0, 0
	for _, seq := range c.log.seqs {
		e := c.log.events[seq]
		if e.Terminal() {
			ends++
		}
		if e.Kind != Chunk {
			continue
		}
		c.log.chunks = append(c.log.chunks, seq)
		if first, n, ok := c.chunks(e.Text); ok {
			if first < next {
				c.violationf(Repeated, "chunk %d has the number %d, after chunk %d", first, seq, next-1)
			}
			next = first + n
		}
	}
	if ends > 1 {
		c.violationf(Terminals, "the log has %d terminal events", ends)
	}
	final := c.final()
	for i := range c.Streams {
		for j := range c.Streams[i].Events {
			if e := &c.Streams[i].Events[j]; e.Terminal() && e.State != final {
				c.violationf(Terminals, "the task is %s for some readers and %s for others", final, e.State)
				return
			}
		}
	}
}

// chunksUpTo returns the number of chunks up to the event seq. It returns unknown if no reader has read the whole log
// and the event is no chunk.
func (c *check) chunksUpTo(seq uint64) int {
	l := &c.log
	if seq == 0 || l.whole && l.events[seq] != nil {
		n, _ := slices.BinarySearch(l.chunks, seq+1)
		return n
	}
	if e := l.events[seq]; e != nil && e.Kind == Chunk {
		if first, n, ok := c.chunks(e.Text); ok {
			return first + n
		}
	}
	return unknown
}

// at returns an event, or nil if no reader received it.
func (l *log) at(seq uint64) *Event { return l.events[seq] }

// audit checks the log that was read after the end of the task: it must contain every event that a reader received, and
// each snapshot must equal the fold of the events up to its number.
func (c *check) audit() {
	var audit *Stream
	for i := range c.Streams {
		if l := &c.Streams[i]; l.Client == Audit && l.Outcome == Ended {
			audit = l
		}
	}
	if audit == nil {
		if c.final() != "" && !c.notFound() {
			c.violationf(Lost, "the log was not read after the end")
		}
		return
	}
	there := make(map[uint64]bool, len(audit.Events))
	for i := range audit.Events {
		there[audit.Events[i].Seq] = true
	}
	for _, seq := range c.log.seqs {
		if !there[seq] {
			c.violationf(Lost, "a reader got %v, which is not in the log afterwards", c.log.events[seq])
		}
	}
	for i := range c.Streams {
		for j := range c.Streams[i].Events {
			if e := &c.Streams[i].Events[j]; e.Kind == Snapshot && e.Seq > 0 {
				c.fold(&c.Streams[i], e)
			}
		}
	}
}

// fold checks a snapshot: it must have the chunks and the state that the log has up to the snapshot's number.
func (c *check) fold(l *Stream, snapshot *Event) {
	n, _ := slices.BinarySearch(c.log.chunks, snapshot.Seq+1)
	if got, ok := c.prefix(snapshot.Text); ok && got != n {
		c.violationf(Diverged, "%v got a snapshot at %d with %d chunks, but the log has %d up to this number", l, snapshot.Seq, got, n)
	}
	at, _ := slices.BinarySearch(c.log.seqs, snapshot.Seq+1)
	for at--; at >= 0; at-- {
		e := c.log.events[c.log.seqs[at]]
		if e.Kind != Status {
			continue
		}
		if e.State != snapshot.State {
			c.violationf(Diverged, "%v got a snapshot at %d with the state %s, but the log has %s there", l, snapshot.Seq, snapshot.State, e.State)
		}
		return
	}
}
