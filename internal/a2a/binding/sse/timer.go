// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"context"
	"sync"
	"time"
)

// timer watches the writes of a stream: it sends keep-alive comments, fails writes
// that take too long, and reports that the stream is idle. A write only records
// its begin and its end; the timer fires at the latest when a write that begins
// now would exceed its timeout. A deadline for each write, set and removed, would
// cost more than everything else that a stream does for an event.
type timer struct {
	mu sync.Mutex
	// timer is nil once the stream is closed.
	timer *time.Timer
	// since is when the last write began.
	since time.Time
	// writing is true during a write.
	writing bool
	// parkAfter is the silence after which onIdle is called with errIdle, once. 0
	// means never, or that it was called.
	parkAfter time.Duration
	onIdle    context.CancelCauseFunc
	// parking is true after onIdle was called and until restartTimer. No comment is
	// written in between, because the stream may be about to change its Conn.
	parking bool
}

func (s *Stream) startTimer() {
	t := &s.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = s.config.Now()
	t.timer = time.AfterFunc(s.untilCheck(0), s.onTimer)
}

// restartTimer ends the pause of the timer of a stream that was to be parked.
func (s *Stream) restartTimer() {
	t := &s.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parking = false; t.timer != nil {
		t.timer.Reset(s.untilCheck(s.config.Now().Sub(t.since)))
	}
}

func (t *timer) beginWrite(now time.Time) {
	t.mu.Lock()
	t.since, t.writing = now, true
	t.mu.Unlock()
}

func (t *timer) endWrite() {
	t.mu.Lock()
	t.writing = false
	t.mu.Unlock()
}

func (t *timer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.timer = nil
}

// untilCheck returns the time until the next check of a stream that has been
// silent for a while. It is at most the write timeout, because a write may begin
// at once.
func (s *Stream) untilCheck(silent time.Duration) time.Duration {
	wait := s.config.WriteTimeout
	if s.config.KeepAlive > 0 {
		wait = min(wait, s.config.KeepAlive-silent)
	}
	if s.timer.parkAfter > 0 {
		wait = min(wait, s.timer.parkAfter-silent)
	}
	return wait
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// onTimer is called when the timer fires. It never waits for a write.
func (s *Stream) onTimer() {
	if s.check() {
		s.writeComment()
	}
}

// check sets the timer again, and reports whether a comment is due. It fails a
// write that takes longer than its timeout.
func (s *Stream) check() (commentDue bool) {
	t := &s.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		return false
	}
	passed := s.config.Now().Sub(t.since)
	switch {
	case t.writing && passed >= s.config.WriteTimeout:
		// The write is still running: the handler has not returned, and the
		// connection has no other request. If the client takes the write now, the
		// deadline fails the next write, which may be a comment.
		_ = s.conn.SetWriteDeadline(past)
		t.timer.Reset(s.config.WriteTimeout)
		return false
	case t.writing:
		t.timer.Reset(s.config.WriteTimeout - passed)
		return false
	case t.parkAfter > 0 && passed >= t.parkAfter:
		t.parkAfter, t.parking = 0, true
		t.onIdle(errIdle)
		fallthrough
	case t.parking:
		t.timer.Reset(s.config.WriteTimeout)
		return false
	case s.config.KeepAlive == 0 || passed < s.config.KeepAlive:
		t.timer.Reset(s.untilCheck(passed))
		return false
	default:
		// Writing the comment is limited by the timer as well.
		t.timer.Reset(s.untilCheck(0))
		return true
	}
}

func (s *Stream) writeComment() {
	if !s.mu.TryLock() {
		return // an event is being written
	}
	defer s.mu.Unlock()
	if s.closed || s.begin() != nil {
		return
	}
	s.batch = append(s.batch, ": keep-alive\n\n"...)
	_ = s.end()
}
