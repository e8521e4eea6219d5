// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"maps"
	"slices"
)

// log is the one order that all readers must have seen.
type log struct {
	events map[uint64]*Event
	// seqs are the numbers of events, and chunks those of chunks, both in order.
	seqs, chunks []uint64
	// whole is true when it was read from its beginning after the end.
	whole bool
}

// gather puts together what the readers of numbered streams saw.
func (c *check) gather() {
	c.log.events = map[uint64]*Event{}
	for i := range c.Legs {
		c.log.whole = c.log.whole || c.Legs[i].Client == Audit && c.Legs[i].Outcome == Ended
		for j := range c.Legs[i].Events {
			e := &c.Legs[i].Events[j]
			if e.Seq == 0 || e.Kind == Snapshot || e.Kind == Standing {
				continue
			}
			if other := c.log.events[e.Seq]; other == nil {
				c.log.events[e.Seq] = e
			} else if *other != *e {
				c.violationf(Diverged, "%v saw %v, and somebody else %v", &c.Legs[i], e, other)
			}
		}
	}
	c.log.seqs = slices.Sorted(maps.Keys(c.log.events))
	c.order()
}

// order judges the log as a whole.
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
				c.violationf(Repeated, "chunk %d stands at %d, behind chunk %d", first, seq, next-1)
			}
			next = first + n
		}
	}
	if ends > 1 {
		c.violationf(Terminals, "the log has %d terminal events", ends)
	}
	final := c.final()
	for i := range c.Legs {
		for j := range c.Legs[i].Events {
			if e := &c.Legs[i].Events[j]; e.Terminal() && e.State != final {
				c.violationf(Terminals, "the task is %s to some and %s to others", final, e.State)
				return
			}
		}
	}
}

// chunksUpTo counts the chunks up to an event, or returns unknown.
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

// at returns an event, nil for one that nobody saw.
func (l *log) at(seq uint64) *Event { return l.events[seq] }

// audit judges the log as it is read after the end: it must have all that
// anybody saw, and snapshots must be folds of it.
func (c *check) audit() {
	var audit *Leg
	for i := range c.Legs {
		if l := &c.Legs[i]; l.Client == Audit && l.Outcome == Ended {
			audit = l
		}
	}
	if audit == nil {
		if c.final() != "" && !c.missed() {
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
			c.violationf(Lost, "%v was seen, and is not in the log afterwards", c.log.events[seq])
		}
	}
	for i := range c.Legs {
		for j := range c.Legs[i].Events {
			if e := &c.Legs[i].Events[j]; e.Kind == Snapshot && e.Seq > 0 {
				c.fold(&c.Legs[i], e)
			}
		}
	}
}

// fold judges a snapshot by the events up to its number.
func (c *check) fold(l *Leg, snapshot *Event) {
	n, _ := slices.BinarySearch(c.log.chunks, snapshot.Seq+1)
	if got, ok := c.prefix(snapshot.Text); ok && got != n {
		c.violationf(Diverged, "%v got a snapshot at %d with %d chunks, and the log has %d up to there", l, snapshot.Seq, got, n)
	}
	at, _ := slices.BinarySearch(c.log.seqs, snapshot.Seq+1)
	for at--; at >= 0; at-- {
		e := c.log.events[c.log.seqs[at]]
		if e.Kind != Status {
			continue
		}
		if e.State != snapshot.State {
			c.violationf(Diverged, "%v got a snapshot at %d that is %s, and the log is %s there", l, snapshot.Seq, snapshot.State, e.State)
		}
		return
	}
}
