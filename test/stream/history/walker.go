// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import "fmt"

func (l *Stream) String() string {
	if l.Opening == Resumed {
		return fmt.Sprintf("%s (%s, resumed after %d)", l.Client, l.Dialect, l.After)
	}
	return fmt.Sprintf("%s (%s, %s)", l.Client, l.Dialect, l.Opening)
}

// walker checks the events of a stream in their order.
type walker struct {
	*check
	stream *Stream
	// before is the previous event, nil before the first one. seq is the number of before, or at first the number after which
	// the stream resumes.
	before *Event
	seq    uint64
	// next is the number of the next chunk, or unknown.
	next int
	// opening is true at the beginning of a stream of 0.1, where one chunk may contain the whole text of a turn.
	opening bool
}

// unknown is a position that the next chunk determines.
const unknown = -1

// walk checks the events of one stream.
func (c *check) walk(l *Stream) {
	w := &walker{check: c, stream: l, next: unknown}
	if l.Opening == Resumed && c.restoredBy == nil {
		w.seq, w.next = l.After, c.chunksUpTo(l.After)
		w.before = c.log.at(l.After)
	}
	for i := range l.Events {
		e := &l.Events[i]
		if i > 0 || !w.resumedAtEnd(e) {
			w.place(e, i == 0)
			w.event(e, i == 0)
		}
		w.before = e
		if e.Seq > 0 {
			w.seq = e.Seq
		}
	}
}

// resumedAtEnd reports whether the first event of a stream that was resumed after the last event of its task is the final
// task. The log checks the content of this task.
func (w *walker) resumedAtEnd(first *Event) bool {
	return w.before != nil && w.before.Terminal() && (first.Kind == Snapshot || first.Kind == Standing) && first.State == w.before.State &&
		(first.Seq == 0 || first.Seq == w.seq)
}

// event checks the content of an event.
func (w *walker) event(e *Event, first bool) {
	if w.before != nil && w.before.Terminal() && !repeatsSnapshot(w.before, e) {
		w.violationf(Terminals, "%v went on with %v after the end of the task", w.stream, e)
		return
	}
	switch e.Kind {
	case Snapshot:
		n, ok := w.prefix(e.Text)
		if !ok {
			w.violationf(Foreign, "%v: a snapshot has the text %.80q", w.stream, e.Text)
		}
		if !first || w.stream.Opening == Resumed && w.restoredBy == nil {
			w.violationf(Lost, "%v got a snapshot in place of events", w.stream)
		}
		w.next = n
	case Chunk:
		w.chunk(e)
	case Standing:
		w.standing(e)
	case Status:
		w.opening = false
		if e.State == inputRequired && w.next != unknown && (w.next == 0 || w.next%w.perTurn() != 0) {
			w.violationf(Reordered, "%v was asked a question after chunk %d", w.stream, w.next-1)
		}
		if e.State == "completed" && w.next != unknown && w.next != len(w.Want) && !repeatsSnapshot(w.before, e) {
			w.violationf(Lost, "%v saw the task complete after %d of %d chunks", w.stream, w.next, len(w.Want))
		}
	}
}

// standing checks the status with which a stream of 0.1 begins.
func (w *walker) standing(e *Event) {
	if w.stream.Opening == Resumed && w.restoredBy == nil {
		w.violationf(Lost, "%v got the current task in place of events", w.stream)
	}
	w.opening = w.stream.Opening != Sent
	if e.Terminal() {
		w.next = unknown // this stream does not begin with the whole text of the task
	}
}

// repeatsSnapshot reports whether an event repeats the snapshot of a task that has ended, which the sidecar
// sends to clients that wait for a final event.
func repeatsSnapshot(before, e *Event) bool {
	return before != nil && (before.Kind == Snapshot || before.Kind == Standing) &&
		e.Kind == Status && e.Seq == 0 && e.State == before.State
}

// chunk checks the position of a chunk.
func (w *walker) chunk(e *Event) {
	first, count, ok := w.chunks(e.Text)
	if !ok {
		w.violationf(Foreign, "%v got %.80q", w.stream, e.Text)
		return
	}
	standing := w.before != nil && w.before.Kind == Standing
	switch {
	case count > 1 && (!w.opening || first%w.perTurn() != 0):
		w.violationf(Repeated, "%v got chunks %d to %d as one", w.stream, first, first+count-1)
	case w.next == unknown && w.stream.Opening == Sent && first%w.perTurn() != 0:
		w.violationf(Lost, "%v begins with chunk %d, which is not the first of a turn", w.stream, first)
	case w.next == unknown && w.stream.Opening != Sent && standing && first != 0:
		w.violationf(Lost, "%v begins with chunk %d", w.stream, first)
	case w.next != unknown && first < w.next:
		w.violationf(Repeated, "%v got chunk %d when %d was next", w.stream, first, w.next)
	case w.next != unknown && first > w.next:
		w.violationf(Lost, "%v got chunk %d when %d was next", w.stream, first, w.next)
	}
	w.next = max(w.next, first+count)
}

// place checks the number of an event.
func (w *walker) place(e *Event, first bool) {
	if e.Seq == 0 {
		return
	}
	// A snapshot may have any number, and so may the event after a snapshot without a number.
	if first && w.stream.Opening != Resumed || w.seq == 0 && (w.stream.Opening != Resumed || w.restoredBy != nil) {
		return
	}
	switch {
	case e.Seq == w.seq:
		w.violationf(Repeated, "%v got event %d twice", w.stream, e.Seq)
	case e.Seq < w.seq:
		w.violationf(Reordered, "%v got event %d after %d", w.stream, e.Seq, w.seq)
	case e.Seq == w.seq+1:
	case e.Seq == w.seq+2 && messageBetween(w.before, e):
	default:
		w.violationf(Lost, "%v got event %d after %d", w.stream, e.Seq, w.seq)
	}
}

// messageBetween reports whether the number of a client's message may lie between two events. The log contains messages,
// and streams do not.
func messageBetween(before, e *Event) bool {
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
