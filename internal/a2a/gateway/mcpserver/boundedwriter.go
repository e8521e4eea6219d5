// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"net/http"
	"sync"
	"time"
)

// commentInterval is the time without a write after which a response with a running call gets a
// comment. Clients and proxies give up a response without a byte, some after 15 s.
const commentInterval = 10 * time.Second

// boundedWriter sets a deadline for each write, so that a client that does not read cannot block a request
// forever. While a call of an agent runs, it sends comments (keepAlive). It is safe for concurrent use.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	now     func() time.Time

	// mu is held during each write.
	mu sync.Mutex
	// comments runs while comments are sent, and is nil otherwise. kept is true if they are sent from
	// the header on, which sent tells.
	comments   *time.Timer
	kept, sent bool
	ended      bool
}

// Write writes p. It fails if the write takes longer than the timeout.
func (w *boundedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(p)
}

func (w *boundedWriter) write(p []byte) (int, error) {
	w.begin()
	if w.comments != nil {
		w.comments.Reset(commentInterval)
	}
	_ = w.control.SetWriteDeadline(w.now().Add(w.timeout))
	defer func() { _ = w.control.SetWriteDeadline(time.Time{}) }()
	return w.ResponseWriter.Write(p)
}

// WriteHeader sends the header.
func (w *boundedWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
	w.begin()
}

// FlushError flushes the response. It fails if this takes longer than the timeout.
func (w *boundedWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *boundedWriter) flush() error {
	w.begin()
	_ = w.control.SetWriteDeadline(w.now().Add(w.timeout))
	defer func() { _ = w.control.SetWriteDeadline(time.Time{}) }()
	return w.control.Flush()
}

// keepAlive sends a comment after each commentInterval without a write, until end. The SDK must have
// set the header for a stream of events, as it has when it calls a tool.
func (w *boundedWriter) keepAlive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep()
}

// keepAliveFromHeader is keepAlive from the header on, which the SDK may send late, and with an error.
func (w *boundedWriter) keepAliveFromHeader() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = true
	if w.sent {
		w.keep()
	}
}

func (w *boundedWriter) keep() {
	if w.comments == nil && !w.ended {
		w.comments = time.AfterFunc(commentInterval, w.comment)
	}
}

// begin notes that the header is sent.
func (w *boundedWriter) begin() {
	w.sent = true
	if w.kept {
		w.keep()
	}
}

func (w *boundedWriter) comment() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if _, err := w.write([]byte(": keep-alive\n\n")); err == nil {
		_ = w.flush() // the next write repeats the error
	}
}

// end stops the comments. It must be called before the handler returns.
func (w *boundedWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.comments != nil {
		w.comments.Stop()
	}
}
