// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sse writes server-sent events, for every binding that streams over
// HTTP. It knows records and frames; it does not know methods, errors or how a
// stream was asked for, and it never ends a task.
package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// ContentType is that of a stream.
const ContentType = "text/event-stream"

// ErrStalled ends a stream whose client does not read.
var ErrStalled = errors.New("client does not read its stream")

// Config says how streams behave. All fields are required but
// KeepAlive, Park and Quiet.
type Config struct {
	// KeepAlive is the silence after which a comment is sent; 0 is for clients
	// that cannot read comments.
	KeepAlive time.Duration
	// WriteTimeout bounds each write, so that a client which does not read is
	// cut off. It is not 0.
	WriteTimeout time.Duration
	Now          func() time.Time
	// Park takes a stream on which nothing has happened for Quiet out of the
	// server's hands: see Parked. Nil leaves all of them there.
	Park  Park
	Quiet time.Duration
}

// Stream is an open response. A timer writes comments into its silences, so
// all writing is behind a lock.
type Stream struct {
	config Config
	watch  watch

	// mu is held while something is written.
	mu     sync.Mutex
	to     connection
	err    error
	closed bool
	failed context.CancelCauseFunc
	// batch is what was not yet handed to the connection, in pooled memory.
	batch   []byte
	scratch *[]byte
}

// connection is what a stream is written to.
type connection interface {
	io.Writer
	Flush() error
	SetWriteDeadline(t time.Time) error
}

// response is that of an HTTP server.
type response struct {
	http.ResponseWriter
	*http.ResponseController
}

// Open sends the head. From here on errors can be told in the stream only.
// The context that it returns ends when the client can no longer be written to.
func (c Config) Open(ctx context.Context, w http.ResponseWriter) (context.Context, *Stream) {
	return c.open(ctx, w, 0)
}

func (c Config) open(ctx context.Context, w http.ResponseWriter, quiet time.Duration) (context.Context, *Stream) {
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Stream{config: c, to: response{w, http.NewResponseController(w)}, failed: cancel, watch: watch{quiet: quiet, quieted: cancel}}
	// The server's own deadline is for answers that do not wait.
	if err := s.to.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.fail(err)
	}
	s.startWatch()
	return ctx, s
}

// Close stops the comments. It must be called before the handler returns.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.watch.stop()
	s.failed(context.Canceled)
}

// Flush sends what there is, at first the head.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	return s.end()
}

const (
	// flushAt is when a batch is handed to the connection before it is complete.
	flushAt = 64 << 10
	// large is a shared event that is not copied into a batch.
	large = 16 << 10
)

// Write sends records and flushes once. closing is asked after each record,
// and ends the batch by returning true.
func (s *Stream) Write(f *Frame, records []*a2a.Record, closing func(*a2a.Event) bool) (closed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return false, err
	}
	for _, record := range records {
		s.record(f, record)
		if closed = closing(&record.Event); closed {
			break
		}
	}
	return closed, s.end()
}

// WriteData sends one event that is in no log, and flushes.
func (s *Stream) WriteData(f *Frame, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	s.event(f, 0, text)
	return s.end()
}

func (s *Stream) record(f *Frame, record *a2a.Record) {
	if record.Shared(f.Dialect) {
		s.event(f, record.Seq, f.Encoded(record))
		return
	}
	s.batch = f.appendHead(s.batch, record.Seq)
	s.batch = f.Append(s.batch, &record.Event)
	s.endEvent(f)
}

func (s *Stream) event(f *Frame, seq uint64, text []byte) {
	s.batch = f.appendHead(s.batch, seq)
	if len(text) >= large {
		s.drain()
		s.raw(text)
	} else {
		s.batch = append(s.batch, text...)
	}
	s.endEvent(f)
}

func (s *Stream) endEvent(f *Frame) {
	s.batch = f.appendTail(s.batch)
	if len(s.batch) >= flushAt {
		s.drain()
	}
}

// begin allows the next write some time.
func (s *Stream) begin() error {
	if s.err == nil {
		s.watch.begin(s.config.Now())
		s.scratch = scratches.Get().(*[]byte)
		s.batch = (*s.scratch)[:0]
	}
	return s.err
}

// end flushes, and gives the buffer back.
func (s *Stream) end() error {
	s.drain()
	if s.err == nil {
		if err := s.to.Flush(); err != nil {
			s.fail(err)
		}
	}
	if cap(s.batch) <= maxPooled {
		*s.scratch = s.batch
		scratches.Put(s.scratch)
	}
	s.batch, s.scratch = nil, nil
	s.watch.end()
	return s.err
}

func (s *Stream) drain() {
	s.raw(s.batch)
	s.batch = s.batch[:0]
}

func (s *Stream) raw(text []byte) {
	if s.err != nil || len(text) == 0 {
		return
	}
	if _, err := s.to.Write(text); err != nil {
		s.fail(err)
	}
}

func (s *Stream) fail(err error) {
	s.err = fmt.Errorf("%w: %w", ErrStalled, err)
	s.failed(s.err)
}
