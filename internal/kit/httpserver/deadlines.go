// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// deadlineStep is by how much the time for a write of HTTP/2 may be less than WriteTimeout.
const deadlineStep = time.Second

// SetReadDeadline implements net.Conn. A server without IdleTimeout sets no deadline for the next request of an
// HTTP/1.1 connection. SetReadDeadline then sets that of IdleTimeout.
func (c *Conn) SetReadDeadline(at time.Time) error {
	isIdle := at.IsZero() && c.hadRequest.Load() && c.server.IdleTimeout < 0 && c.running.Load() == 0 && !c.hasHead
	c.isIdle.Store(isIdle)
	if isIdle {
		at = time.Now().Add(IdleTimeout) //nolint:forbidigo // a deadline of the machine
	}
	return c.Conn.SetReadDeadline(at)
}

// SetWriteDeadline implements net.Conn. For HTTP/2, net/http sets a deadline for each frame, on a new goroutine whose first stack is too
// small for that: the runtime would copy the stack for each frame. SetWriteDeadline therefore keeps a deadline for further frames, unless
// that would shorten their time by more than deadlineStep.
func (c *Conn) SetWriteDeadline(at time.Time) error {
	former := c.writeUntil.Load()
	if !c.isHTTP2.Load() || at.IsZero() && former == 0 {
		return c.Conn.SetWriteDeadline(at)
	}
	until := int64(at.Sub(c.server.table.began))
	if at.IsZero() || time.Duration(until-former) < deadlineStep {
		return nil
	}
	c.writeUntil.Store(until)
	return c.Conn.SetWriteDeadline(at)
}

// deadlines is the ResponseWriter of an HTTP/2 request. It has timers of its own for the deadlines that handlers
// set, and stops them when the handler ends. The timers of net/http would go on if the client has reset the
// stream, and keep all that the connection held until they end.
type deadlines struct {
	http.ResponseWriter

	mu          sync.Mutex
	read, write *time.Timer
	hasEnded    bool
}

// past is a deadline that ends a read or a write at once.
var past = time.Unix(1, 0)

// Unwrap returns the ResponseWriter of net/http, for http.ResponseController.
func (d *deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// Flush implements http.Flusher.
func (d *deadlines) Flush() { _ = http.NewResponseController(d.ResponseWriter).Flush() }

// WriteString implements io.StringWriter. Without it, io.WriteString would copy each string.
func (d *deadlines) WriteString(text string) (n int, err error) {
	return io.WriteString(d.ResponseWriter, text)
}

// SetReadDeadline sets the deadline for reading the body. Zero means none.
func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = d.start(d.read, at, http.NewResponseController(d.ResponseWriter).SetReadDeadline)
	return nil
}

// SetWriteDeadline sets the deadline for writing the response. Zero means none.
func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	inner := http.NewResponseController(d.ResponseWriter).SetWriteDeadline
	if d.write == nil {
		_ = inner(time.Time{}) // the timer of Server.WriteTimeout
	}
	d.write = d.start(d.write, at, inner)
	return nil
}

// start replaces a timer, which is nil at first. The caller holds the lock.
func (d *deadlines) start(timer *time.Timer, at time.Time, set func(time.Time) error) *time.Timer {
	wait := time.Until(at)
	switch {
	case d.hasEnded:
		return timer
	case timer != nil:
		timer.Stop()
		if !at.IsZero() {
			timer.Reset(wait)
		}
		return timer
	case at.IsZero():
		return nil
	default:
		return time.AfterFunc(wait, func() { _ = set(past) })
	}
}

// end stops the timers.
func (d *deadlines) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hasEnded = true
	for _, timer := range []*time.Timer{d.read, d.write} {
		if timer != nil {
			timer.Stop()
		}
	}
}
