// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// writer gives each piece of an answer its time: a client that does not read is
// cut off, one that reads slowly or has nothing to read is not.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	stalled atomic.Bool
	// begun is true once a message may have been written.
	begun bool

	mu      sync.Mutex
	writing bool
	// late is true when the timer of a write that has ended is still to call cut.
	late  bool
	timer *time.Timer
}

// newWriter takes the server's own limit back, which is for answers that do not
// wait.
func newWriter(w http.ResponseWriter, timeout time.Duration) *writer {
	out := &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
	_ = out.control.SetWriteDeadline(time.Time{})
	return out
}

// Unwrap lets a ResponseController through.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (written int, err error) {
	const piece = 64 << 10
	for err == nil && len(p) > 0 {
		n := 0
		w.within(func() { n, err = w.ResponseWriter.Write(p[:min(len(p), piece)]) })
		written, p = written+n, p[n:]
	}
	return written, err
}

// Flush implements http.Flusher for connect, which flushes after each message
// and at the end of a call. The call itself knows when it has no more to send.
func (w *writer) Flush() {
	if !w.begun {
		w.flush()
	}
}

// flush sends what was written.
func (w *writer) flush() { w.within(func() { _ = w.control.Flush() }) }

// within runs one write. A timer costs less than the deadlines of HTTP/2, which
// are messages to the goroutine of the connection.
func (w *writer) within(write func()) {
	w.mu.Lock()
	w.writing = true
	if w.timer == nil {
		w.timer = time.AfterFunc(w.timeout, w.cut)
	} else {
		w.timer.Reset(w.timeout)
	}
	w.mu.Unlock()
	write()
	w.mu.Lock()
	w.writing = false
	w.late = !w.timer.Stop()
	w.mu.Unlock()
}

// cut ends the write that goes on. A deadline in the past resets the stream.
func (w *writer) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late {
		w.late = false
		return
	}
	if w.writing {
		w.stalled.Store(true)
		_ = w.control.SetWriteDeadline(time.Unix(1, 0))
	}
}
