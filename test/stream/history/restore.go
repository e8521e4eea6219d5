// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"time"
)

// restored returns the last restore of the store between the first request for the task and its last stream; nil
// for none.
func (c *check) restored() *Restore {
	for i := range c.faults.Restores {
		if r := &c.faults.Restores[i]; r.Kill <= c.last() && c.begun() <= r.End {
			c.restoredBy = r
		}
	}
	return c.restoredBy
}

// lostWithStore reports whether the backup that replaced the data of the store may lack the whole task.
// The time of the request does not matter: the store may receive the task after the backup has begun.
func (c *check) lostWithStore() bool {
	return c.restoredBy != nil && c.acknowledged() >= c.restoredBy.Backup
}

// MayReplace reports whether the restore may have removed a state that a client read. sent and received are the times of
// the client's request and of its response.
func (r *Restore) MayReplace(sent, received time.Duration) bool {
	return within([]Window{{Begin: r.Backup, End: r.End}}, sent, received)
}

// afterRestore checks a task whose store was replaced by a backup. The log after the restore must be the whole log of the
// task, or a beginning of it followed by a failure. A reader that received events which this log does not contain must
// receive no event after them.
func (c *check) afterRestore(r *Restore) {
	var audit *Stream
	for i := range c.Streams {
		l := &c.Streams[i]
		c.walk(l)
		c.outcome(l)
		// A log that was read while the store ended is the log before the restore or the log after it. Each of
		// them obeys the rules.
		if l.Client == Audit && l.Outcome == Ended && l.End >= r.Kill {
			audit = l
		}
	}
	for _, client := range c.GaveUp {
		c.violationf(Wedged, "%s gave up", client)
	}
	c.doubled()
	if audit == nil || c.Read == nil {
		if !c.notFound() {
			c.violationf(Lost, "the log was not read after the restore")
		}
		return
	}
	after, chunks, end := c.logAfter(audit)
	if end != "failed" && (end != "completed" || chunks != len(c.Want)) {
		c.violationf(Lost, "after the restore the task is %s with %d of %d chunks", end, chunks, len(c.Want))
	}
	// A task that ended after the backup is in the state working again, until a sidecar fails it.
	state := c.Read.State == end || c.Read.State == "working" && end == "failed" && c.ReadAt < r.End
	if c.ReadAt >= r.Kill && (!state || c.Read.Text != strings.Join(c.Want[:chunks], "")) {
		n, _ := c.prefix(c.Read.Text)
		c.violationf(Diverged, "after the restore the task reads as %s with %d chunks, and its log is %s with %d", c.Read.State, n, end, chunks)
	}
	for i := range c.Streams {
		c.noSplice(&c.Streams[i], after, r)
	}
}

// logAfter returns the log that the audit read: the events by number, the number of chunks and the terminal state.
func (c *check) logAfter(audit *Stream) (after map[uint64]*Event, chunks int, end string) {
	after = make(map[uint64]*Event, len(audit.Events))
	for i := range audit.Events {
		e := &audit.Events[i]
		after[e.Seq] = e
		if e.Terminal() {
			end = e.State
		}
		if e.Kind != Chunk {
			continue
		}
		if first, n, ok := c.chunks(e.Text); ok && first == chunks {
			chunks += n
		} else {
			c.violationf(Lost, "after the restore the log has %v behind %d chunks", e, chunks)
		}
	}
	return after, chunks, end
}

// noSplice checks that no stream contains an event that the restore has lost and, after it, an event of the log after the
// restore.
func (c *check) noSplice(l *Stream, after map[uint64]*Event, r *Restore) {
	var lost *Event
	for i := range l.Events {
		e := &l.Events[i]
		// The chunk after a Standing event contains the text of several events, so it differs from the event with its number.
		text := i > 0 && l.Events[i-1].Kind == Standing && e.Kind == Chunk
		if e.Seq == 0 || e.Kind == Snapshot || text {
			continue
		}
		switch same := after[e.Seq] != nil && *after[e.Seq] == *e; {
		case !same && lost == nil && l.Begin > r.End:
			c.violationf(Diverged, "%v got %v, which is not in the log", l, e)
			return
		case !same:
			lost = e
		case lost != nil:
			c.violationf(Diverged, "%v got %v, which the restore has lost, and then %v", l, lost, e)
			return
		}
	}
}
