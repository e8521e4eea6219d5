// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import "fmt"

func (l *Leg) String() string {
	if l.Opening == Resumed {
		return fmt.Sprintf("%s (%s, resumed after %d)", l.Client, l.Dialect, l.After)
	}
	return fmt.Sprintf("%s (%s, %s)", l.Client, l.Dialect, l.Opening)
}

// walker reads a leg from its first event to its last.
type walker struct {
	*check
	leg *Leg
	// before is the event before, nil at first; seq is its number, or the one
	// behind which the stream begins.
	before *Event
	seq    uint64
	// next is the chunk that must come, -1 while that is not known.
	next int
	// opening is true while a stream of 0.1 tells what the task has said: all of
	// a turn at once.
	opening bool
}

// unknown is a place that only the next chunk tells.
const unknown = -1

// walk judges the events of one leg by themselves.
func (c *check) walk(l *Leg) {
	w := &walker{check: c, leg: l, next: unknown}
	if l.Opening == Resumed {
		w.seq, w.next = l.After, c.chunksUpTo(l.After)
		w.before = c.log.at(l.After)
	}
	for i := range l.Events {
		e := &l.Events[i]
		w.place(e, i == 0)
		w.event(e, i == 0)
		w.before = e
		if e.Seq > 0 {
			w.seq = e.Seq
		}
	}
}

// event judges what is said.
func (w *walker) event(e *Event, first bool) {
	if w.before != nil && w.before.Terminal() && !told(w.before, e) {
		w.violationf(Terminals, "%v went on with %v after the end of the task", w.leg, e)
		return
	}
	switch e.Kind {
	case Snapshot:
		n, ok := w.prefix(e.Text)
		if !ok {
			w.violationf(Foreign, "%v: a snapshot says %.80q", w.leg, e.Text)
		}
		if !first || w.leg.Opening == Resumed {
			w.violationf(Lost, "%v got a snapshot where events belong", w.leg)
		}
		w.next = n
	case Chunk:
		w.chunk(e)
	case Standing:
		w.opening = w.leg.Opening == Subscribed
		if e.Terminal() {
			w.next = unknown // it is not told what the task has said
		}
	case Status:
		w.opening = false
		if e.State == inputRequired && w.next != unknown && (w.next == 0 || w.next%w.perTurn() != 0) {
			w.violationf(Reordered, "%v was asked a question after chunk %d", w.leg, w.next-1)
		}
		if e.State == "completed" && w.next != unknown && w.next != len(w.Want) && !told(w.before, e) {
			w.violationf(Lost, "%v saw the task complete after %d of %d chunks", w.leg, w.next, len(w.Want))
		}
	}
}

// told reports whether an event repeats a snapshot of a task that has ended, as
// it is done for clients that look for a final event.
func told(before, e *Event) bool {
	return before != nil && (before.Kind == Snapshot || before.Kind == Standing) &&
		e.Kind == Status && e.Seq == 0 && e.State == before.State
}

// chunk judges the place of a chunk among the others.
func (w *walker) chunk(e *Event) {
	first, count, ok := w.chunks(e.Text)
	if !ok {
		w.violationf(Foreign, "%v got %.80q", w.leg, e.Text)
		return
	}
	standing := w.before != nil && w.before.Kind == Standing
	switch {
	case count > 1 && (!w.opening || first%w.perTurn() != 0):
		w.violationf(Repeated, "%v got chunks %d to %d as one", w.leg, first, first+count-1)
	case w.next == unknown && w.leg.Opening == Sent && first%w.perTurn() != 0:
		w.violationf(Lost, "%v begins with chunk %d, in the midst of a turn", w.leg, first)
	case w.next == unknown && w.leg.Opening == Subscribed && standing && first != 0:
		w.violationf(Lost, "%v begins with chunk %d", w.leg, first)
	case w.next != unknown && first < w.next:
		w.violationf(Repeated, "%v got chunk %d when %d was next", w.leg, first, w.next)
	case w.next != unknown && first > w.next:
		w.violationf(Lost, "%v got chunk %d when %d was next", w.leg, first, w.next)
	}
	w.next = max(w.next, first+count)
}

// place judges the number of an event.
func (w *walker) place(e *Event, first bool) {
	if e.Seq == 0 {
		return
	}
	// A snapshot may stand anywhere, and so may the event after it in streams
	// that do not number their snapshots.
	if first && w.leg.Opening != Resumed || w.seq == 0 && w.leg.Opening != Resumed {
		return
	}
	switch {
	case e.Seq == w.seq:
		w.violationf(Repeated, "%v got event %d twice", w.leg, e.Seq)
	case e.Seq < w.seq:
		w.violationf(Reordered, "%v got event %d after %d", w.leg, e.Seq, w.seq)
	case e.Seq == w.seq+1:
	case e.Seq == w.seq+2 && answers(w.before, e):
	default:
		w.violationf(Lost, "%v got event %d after %d", w.leg, e.Seq, w.seq)
	}
}

// answers reports whether a message of the client stands between two events:
// messages are in the log, and in no stream.
func answers(before, e *Event) bool {
	if e.Kind != Status {
		return false
	}
	if before == nil {
		return e.Seq == 2 && e.State == "submitted"
	}
	return before.waiting() && e.State == "working"
}

func (e *Event) String() string {
	if e.Kind == Chunk {
		return fmt.Sprintf("event %d, %.40q", e.Seq, e.Text)
	}
	return fmt.Sprintf("event %d, %s %s", e.Seq, e.Kind, e.State)
}
