// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// lastDeadline records the write deadlines that are set.
type lastDeadline struct {
	net.Conn
	set   int
	until time.Time
}

func (c *lastDeadline) SetWriteDeadline(at time.Time) error {
	c.set++
	c.until = at
	return nil
}

// The frames of HTTP/2 share write deadlines, because each one costs net/http a copy of a stack. None has less time for it.
func TestFramesShareWriteDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := &lastDeadline{}
		c := &Conn{Conn: raw, server: &Server{table: &table{began: time.Now()}}}
		headDeadline := time.Now().Add(time.Hour)
		_ = c.SetWriteDeadline(headDeadline)
		c.isHTTP2.Store(true)
		_ = c.SetWriteDeadline(time.Time{})
		if !raw.until.IsZero() {
			t.Error("the deadline of HTTP/1.1 stays")
		}
		raw.set = 0
		write := func(pause time.Duration, times int) {
			for range times {
				_ = c.SetWriteDeadline(time.Now().Add(WriteTimeout))
				if left := time.Until(raw.until); left > WriteTimeout || left <= WriteTimeout-deadlineStep {
					t.Errorf("a write has %s, want %s and at most %s less", left, WriteTimeout, deadlineStep)
				}
				_ = c.SetWriteDeadline(time.Time{})
				time.Sleep(pause)
			}
		}
		write(time.Millisecond, 3000)
		if raw.set < 3 || raw.set > 5 {
			t.Errorf("%d deadlines in 3 s", raw.set)
		}
		write(time.Minute, 3) // the last deadline is over
	})
	raw := &lastDeadline{}
	c := &Conn{Conn: raw}
	for range 3 {
		_ = c.SetWriteDeadline(time.Now().Add(WriteTimeout))
		_ = c.SetWriteDeadline(time.Time{})
	}
	if raw.set != 6 || !raw.until.IsZero() {
		t.Errorf("HTTP/1.1: %d of 6 deadlines", raw.set)
	}
}
