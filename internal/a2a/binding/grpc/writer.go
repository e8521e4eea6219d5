// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// writer bounds the time of each write of 64 KiB, and the time of all writes of a message. It
// disconnects a client that does not read or that reads too slowly (slow consumer). It does
// not disconnect the client of an idle stream.
type writer struct {
	http.ResponseWriter
	control http.ResponseController
	limits  *httpcall.Limits
	stalled atomic.Bool
	// begun is true once a message may have been written.
	begun bool

	mu      sync.Mutex
	writing bool
	// late is true if a write has ended after its timer fired. The call of cut may then still
	// be running or about to run, and cut must not affect the next write.
	late  bool
	timer *time.Timer
}

// newWriter returns a writer. It removes the write deadline of the server, which would
// bound the whole response.
func newWriter(w http.ResponseWriter, limits *httpcall.Limits) *writer {
	out := &writer{ResponseWriter: w, control: *http.NewResponseController(w), limits: limits}
	_ = out.control.SetWriteDeadline(time.Time{})
	return out
}

// Unwrap returns the wrapped writer to http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter. It disconnects a client that takes longer than
// WriteTimeout to read 64 KiB of p, or longer than AnswerTimeout to read p.
func (w *writer) Write(p []byte) (written int, err error) {
	const piece = 64 << 10
	var end time.Time
	if len(p) > piece && w.limits.AnswerTimeout > 0 {
		end = w.limits.Now().Add(w.limits.AnswerTimeout)
	}
	for err == nil && len(p) > 0 {
		timeout := w.limits.WriteTimeout
		if !end.IsZero() {
			timeout = min(timeout, end.Sub(w.limits.Now()))
		}
		if timeout <= 0 {
			w.disconnect()
			return written, os.ErrDeadlineExceeded
		}
		n := 0
		w.within(timeout, func() { n, err = w.ResponseWriter.Write(p[:min(len(p), piece)]) })
		written = written + n
		p = p[n:]
	}
	return written, err
}

// Flush implements http.Flusher. connect calls it after each message and at the end of a
// call. Once begun is true, Flush does nothing: the handler calls flush when it has no more
// messages to write.
func (w *writer) Flush() {
	if !w.begun {
		w.flush()
	}
}

// flush sends the written bytes.
func (w *writer) flush() { w.within(w.limits.WriteTimeout, func() { _ = w.control.Flush() }) }

// boundRest sets a deadline for the bytes that the server sends after the handler has
// returned. Without the deadline, a client that opens no window of flow control would block
// the goroutine of the call for as long as the connection exists.
func (w *writer) boundRest() {
	_ = w.control.SetWriteDeadline(w.limits.Now().Add(w.limits.WriteTimeout))
}

// within runs one write and bounds its time. It uses a timer, because setting a write
// deadline in HTTP/2 costs more: the deadline is a message to the goroutine of the
// connection.
func (w *writer) within(timeout time.Duration, write func()) {
	w.mu.Lock()
	w.writing = true
	if w.timer == nil {
		w.timer = time.AfterFunc(timeout, w.cut)
	} else {
		w.timer.Reset(timeout)
	}
	w.mu.Unlock()
	write()
	w.mu.Lock()
	w.writing = false
	w.late = !w.timer.Stop()
	w.mu.Unlock()
}

// cut disconnects the client of a running write.
func (w *writer) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late {
		w.late = false
		return
	}
	if w.writing {
		w.disconnect()
	}
}

// disconnect resets the stream by a deadline in the past.
func (w *writer) disconnect() {
	w.stalled.Store(true)
	_ = w.control.SetWriteDeadline(time.Unix(1, 0))
}
