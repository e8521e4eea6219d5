// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sse writes server-sent events for the bindings that stream over HTTP. It depends
// on records and frames, and on neither methods nor requests. The end of a stream ends no
// task.
package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// ContentType is the media type of a stream.
const ContentType = "text/event-stream"

// ErrStalled ends a stream whose client does not read.
var ErrStalled = errors.New("client does not read its stream")

// Config configures streams. KeepAlive, Interval, Park and ParkAfter are optional.
type Config struct {
	// KeepAlive is the time without a write after which a comment is sent. 0 sends none,
	// for clients that cannot read comments.
	KeepAlive time.Duration
	// Interval returns the KeepAlive of a stream that begins, if Interval is not nil.
	Interval func() time.Duration
	// WriteTimeout bounds each write. A client that does not read for this time is
	// disconnected.
	WriteTimeout time.Duration
	Now          func() time.Time
	// Park parks a stream that had no event for ParkAfter. If Park is nil or ParkAfter is 0,
	// no stream is parked.
	Park      Park
	ParkAfter time.Duration
}

// Stream is an open response. It is safe for concurrent use.
type Stream struct {
	config Config
	timer  timer

	// mu guards the fields below. The goroutine of the caller or of the timer holds it during
	// each write.
	mu     sync.Mutex
	conn   Conn
	err    error
	closed bool
	// cancel cancels the context of the stream.
	cancel context.CancelCauseFunc
	// batch has the bytes that are not written to conn yet. It uses the memory of buffer,
	// which is pooled.
	batch  []byte
	buffer *[]byte
}

// Conn is the connection to which a stream writes: the response of an HTTP server, or a
// parked connection.
type Conn interface {
	io.Writer
	Flush() error
	SetWriteDeadline(t time.Time) error
}

// response implements Conn by the response of an HTTP server.
type response struct {
	http.ResponseWriter
	*http.ResponseController
}

// Close stops the timer and cancels the context of the stream. Unless the stream is parked,
// Close must be called before the handler returns.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.timer.stop()
	s.cancel(context.Canceled)
}

// Flush sends the header.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	return s.end()
}

const (
	// flushAt is the size at which an incomplete batch is written, in bytes.
	flushAt = 64 << 10
	// large is the size from which an event is written without copying it into the batch,
	// in bytes.
	large = 16 << 10
)

// Write sends records and flushes once. If isLast returns true for an event, Write omits
// the records after it, and ended is true. The error of a failed write wraps ErrStalled.
func (s *Stream) Write(f *Frame, records []*a2a.Record, isLast func(*a2a.Event) bool) (ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return false, err
	}
	for _, record := range records {
		s.appendRecord(f, record)
		ended = isLast(&record.Event)
		if ended {
			break
		}
	}
	return ended, s.end()
}

// WriteData sends an encoded event without a number, and flushes.
func (s *Stream) WriteData(f *Frame, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	s.appendEvent(f, 0, text)
	return s.end()
}

func (s *Stream) appendRecord(f *Frame, record *a2a.Record) {
	if record.Shared(f.Dialect) {
		s.appendEvent(f, record.Seq, f.Encoded(record))
		return
	}
	s.batch = f.appendHead(s.batch, record.Seq)
	s.batch = f.Append(s.batch, &record.Event)
	s.endEvent(f)
}

func (s *Stream) appendEvent(f *Frame, seq uint64, text []byte) {
	s.batch = f.appendHead(s.batch, seq)
	if len(text) >= large {
		s.writeBatch()
		s.write(text)
	} else {
		s.batch = append(s.batch, text...)
	}
	s.endEvent(f)
}

func (s *Stream) endEvent(f *Frame) {
	s.batch = f.appendTail(s.batch)
	if len(s.batch) >= flushAt {
		s.writeBatch()
	}
}

// begin begins a write. The timer bounds its duration. If an earlier write has failed, begin
// returns its error. The caller holds s.mu until end returns.
func (s *Stream) begin() error {
	if s.err == nil {
		s.timer.beginWrite(s.config.Now())
		s.buffer = encodeBuffers.Get().(*[]byte)
		s.batch = (*s.buffer)[:0]
	}
	return s.err
}

// end ends a write: it flushes the batch and returns the buffer to its pool.
func (s *Stream) end() error {
	s.writeBatch()
	if s.err == nil {
		if err := s.conn.Flush(); err != nil {
			s.fail(err)
		}
	}
	if cap(s.batch) <= maxPooled {
		*s.buffer = s.batch
		encodeBuffers.Put(s.buffer)
	}
	s.batch = nil
	s.buffer = nil
	s.timer.endWrite()
	return s.err
}

func (s *Stream) writeBatch() {
	s.write(s.batch)
	s.batch = s.batch[:0]
}

func (s *Stream) write(text []byte) {
	if s.err != nil || len(text) == 0 {
		return
	}
	if _, err := s.conn.Write(text); err != nil {
		s.fail(err)
	}
}

// failure waits for the end of a running write, and returns the error of the first write that
// failed, nil if none failed.
func (s *Stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Stream) fail(err error) {
	if s.timer.wasCut() {
		// The error of a reset HTTP/2 stream does not contain os.ErrDeadlineExceeded.
		err = errors.Join(os.ErrDeadlineExceeded, err)
	}
	s.err = fmt.Errorf("%w: %w", ErrStalled, err)
	s.cancel(s.err)
}

// Park takes the connection of a response out of the HTTP server, and calls serve with the
// connection on another goroutine. This saves the stack and the buffers of the server while
// a stream is idle. If the connection cannot be parked, Park does nothing and returns
// false. The context of serve ends when the client disconnects. serve returns whether the
// response is complete.
type Park func(w http.ResponseWriter, r *http.Request, serve func(context.Context, Conn) (complete bool)) bool

// ErrParked is returned by Serve if the stream is parked. The stream continues without the
// request, so the caller must not use the request or the response any more. Reply.OnEnd is
// called at the end of the stream.
var ErrParked = errors.New("stream is parked")

// errIdle is the cause with which the timer cancels the wait of a stream for its next
// event, so that the stream is parked.
var errIdle = errors.New("stream is idle")

// timer watches the writes of a stream: it sends keep-alive comments, fails writes that
// exceed their timeout, and reports an idle stream. A write only records its begin and its
// end. The timer fires at the latest when a write that begins now would exceed its timeout.
// Setting and removing a deadline for each write would cost more than all other work for an
// event.
type timer struct {
	mu sync.Mutex
	// timer is nil once the stream is closed.
	timer *time.Timer
	// since is the time at which the last write began.
	since time.Time
	// writing is true during a write.
	writing bool
	// parkAfter is the time without a write after which the timer calls onIdle with
	// errIdle, once. It is 0 if the stream is never parked, and after the call.
	parkAfter time.Duration
	onIdle    context.CancelCauseFunc
	// parking is true from the call of onIdle until restartTimer. The timer writes no
	// comment meanwhile, because the Conn of the stream may be about to change.
	parking bool
	// cut is true after a write took longer than its timeout.
	cut bool
}

func (t *timer) wasCut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut
}

func (t *timer) beginWrite(now time.Time) {
	t.mu.Lock()
	t.since = now
	t.writing = true
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
