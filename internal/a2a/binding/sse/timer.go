// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"time"
)

func (s *Stream) startTimer() {
	t := &s.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = s.config.Now()
	t.timer = time.AfterFunc(s.untilCheck(0), s.onTimer)
}

// restartTimer resumes the timer of a stream after an attempt to park it.
func (s *Stream) restartTimer() {
	t := &s.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parking = false
	if t.timer != nil {
		t.timer.Reset(s.untilCheck(s.config.Now().Sub(t.since)))
	}
}

// parkAfter makes the timer report the stream as idle after a time without a write.
func (s *Stream) parkAfter(idle time.Duration) {
	t := &s.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parkAfter = idle
	if t.timer != nil {
		t.timer.Reset(s.untilCheck(s.config.Now().Sub(t.since)))
	}
}

// untilCheck returns the time until the next check of a stream. silent is the time since
// the begin of the last write. The result is at most WriteTimeout, because a write may
// begin at any time.
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

// onTimer runs when the timer fires. It never waits for a write.
func (s *Stream) onTimer() {
	if s.check() {
		s.writeComment()
	}
}

// check resets the timer, and reports whether a comment is due. It fails a write that
// exceeds WriteTimeout.
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
		// The deadline fails the running write. It affects no other request, because the
		// connection has none while the stream is open. If the client reads at this moment and
		// the running write succeeds, the deadline fails the next write of the stream, which may
		// be a comment.
		t.cut = true
		_ = s.conn.SetWriteDeadline(past)
		t.timer.Reset(s.config.WriteTimeout)
		return false
	case t.writing:
		t.timer.Reset(s.config.WriteTimeout - passed)
		return false
	case t.parkAfter > 0 && passed >= t.parkAfter:
		t.parkAfter = 0
		t.parking = true
		t.onIdle(errIdle)
		fallthrough
	case t.parking:
		t.timer.Reset(s.config.WriteTimeout)
		return false
	case s.config.KeepAlive == 0 || passed < s.config.KeepAlive:
		t.timer.Reset(s.untilCheck(passed))
		return false
	default:
		// The timer also bounds the write of the comment.
		t.timer.Reset(s.untilCheck(0))
		return true
	}
}

func (s *Stream) writeComment() {
	if !s.mu.TryLock() {
		return // a write is running, so no comment is needed
	}
	defer s.mu.Unlock()
	if s.closed || s.begin() != nil {
		return
	}
	s.batch = append(s.batch, ": keep-alive\n\n"...)
	_ = s.end()
}
