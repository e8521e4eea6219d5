// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"context"
	"sync"
	"time"
)

// watch is what a stream's timer looks at. A write only says that it has begun
// and that it is over; the timer comes by itself, at the latest when the write
// would have taken too long. A deadline for each write, set and taken back,
// would cost more than all else that the stream itself does for an event.
type watch struct {
	mu sync.Mutex
	// timer is nil when the stream is closed.
	timer *time.Timer
	// since is when the last write began, or the one that is going on.
	since   time.Time
	writing bool
	// quiet is the silence after which quieted is told that the stream may rest;
	// 0 for none, or when it was.
	quiet   time.Duration
	quieted context.CancelCauseFunc
	// moving is true from then on until it is known what the stream is written
	// to: no comment is written meanwhile.
	moving bool
}

func (s *Stream) startWatch() {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = s.config.Now()
	w.timer = time.AfterFunc(s.rest(0), s.look)
}

func (w *watch) begin(now time.Time) {
	w.mu.Lock()
	w.since, w.writing = now, true
	w.mu.Unlock()
}

func (w *watch) end() {
	w.mu.Lock()
	w.writing = false
	w.mu.Unlock()
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.timer = nil
}

// rest is how long the timer may leave a stream alone that was silent for a
// while: a write may begin at once.
func (s *Stream) rest(silent time.Duration) time.Duration {
	rest := s.config.WriteTimeout
	if s.config.KeepAlive > 0 {
		rest = min(rest, s.config.KeepAlive-silent)
	}
	if s.watch.quiet > 0 {
		rest = min(rest, s.watch.quiet-silent)
	}
	return rest
}

// settled has the timer go on for a stream that was moving.
func (s *Stream) settled() {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moving = false; w.timer != nil {
		w.timer.Reset(s.rest(s.config.Now().Sub(w.since)))
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// look is the timer's. It never waits for a write.
func (s *Stream) look() {
	if s.silent() {
		s.comment()
	}
}

// silent reports whether it is time for a comment, and cuts off a client that
// has not taken what is being written.
func (s *Stream) silent() bool {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return false
	}
	passed := s.config.Now().Sub(w.since)
	switch {
	case w.writing && passed >= s.config.WriteTimeout:
		// The write fails. It cannot end before that, so the handler has not
		// returned and the connection has no other request. One that has just
		// been taken does not fail: then the next one does, be it a comment.
		_ = s.to.SetWriteDeadline(longAgo)
		w.timer.Reset(s.config.WriteTimeout)
		return false
	case w.writing:
		w.timer.Reset(s.config.WriteTimeout - passed)
		return false
	case w.quiet > 0 && passed >= w.quiet:
		w.quiet, w.moving = 0, true
		w.quieted(errQuiet)
		fallthrough
	case w.moving:
		w.timer.Reset(s.config.WriteTimeout)
		return false
	case s.config.KeepAlive == 0 || passed < s.config.KeepAlive:
		w.timer.Reset(s.rest(passed))
		return false
	default:
		// The comment is a write like any other.
		w.timer.Reset(s.rest(0))
		return true
	}
}

func (s *Stream) comment() {
	if !s.mu.TryLock() {
		return // silent no more
	}
	defer s.mu.Unlock()
	if s.closed || s.begin() != nil {
		return
	}
	s.batch = append(s.batch, ": keep-alive\n\n"...)
	_ = s.end()
}
