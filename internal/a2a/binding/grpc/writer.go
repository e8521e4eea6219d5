// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// writer bounds the time of each write of 64 KiB. It disconnects a client that does not
// read, but no client that reads slowly or to which nothing is written.
type writer struct {
	http.ResponseWriter
	control http.ResponseController
	timeout time.Duration
	stalled atomic.Bool
	// begun is true once a message may have been written.
	begun bool

	mu      sync.Mutex
	writing bool
	// late is true if the timer fired at the end of its write and cut has not run yet. cut
	// then does nothing.
	late  bool
	timer *time.Timer
}

// newWriter returns a writer. It removes the write deadline of the server, which would
// bound the whole response.
func newWriter(w http.ResponseWriter, timeout time.Duration) *writer {
	out := &writer{ResponseWriter: w, control: *http.NewResponseController(w), timeout: timeout}
	_ = out.control.SetWriteDeadline(time.Time{})
	return out
}

// Unwrap returns the wrapped writer to http.ResponseController.
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

// Flush implements http.Flusher. connect calls it after each message and at the end of a
// call, so it does nothing after the first message: the call calls flush itself when it has
// no more messages to write.
func (w *writer) Flush() {
	if !w.begun {
		w.flush()
	}
}

// flush sends the written bytes.
func (w *writer) flush() { w.within(func() { _ = w.control.Flush() }) }

// within runs one write and bounds its time. It uses a timer because a write deadline of
// HTTP/2 costs more: it is a message to the goroutine of the connection.
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

// cut resets the stream of a running write, by a deadline in the past.
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
