// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Reply is a stream to serve, with the settings of its encoding.
type Reply struct {
	Frame Frame
	// First are the records that were read before the header of the response was sent.
	// Stream returns the records after First.
	First  []*a2a.Record
	Stream a2a.Stream
	// IsLast reports whether an event ends the response, even if the stream has
	// more events.
	IsLast func(*a2a.Event) bool
	// FinalEvent returns the event to send after a stream that ended with last, nil for
	// none.
	FinalEvent func(last *a2a.Event) *a2a.Event
	// EncodeError encodes an error that ends the stream. ErrorFrame is the frame of the
	// encoded error.
	EncodeError func(error) []byte
	ErrorFrame  Frame
	// Beginning is the time until the first event of the stream, nil for a stream that began at
	// once.
	Beginning *Beginning
	// Request is the request, whose body must have been read to its end. If Request is nil,
	// the stream is never parked.
	Request *http.Request
	// Reserve reserves memory for an event of about size bytes until release is called. The
	// stream ends with the error of Reserve. If Reserve is nil, nothing is reserved.
	Reserve func(ctx context.Context, size int) (release func(), err error)
	// OnEnd is called at the end of a parked stream, and never for another stream. ctx is the
	// context of the client. err is the error that Serve would return without parking.
	OnEnd func(ctx context.Context, err error)
}

// Serve writes a reply until it ends. It returns nil if the client received the whole
// reply, and ErrParked if the stream was parked. A stream that ends because of a drain or a
// slow client ends without an error event, because the client can resume it.
func (c Config) Serve(ctx context.Context, w http.ResponseWriter, r *Reply) error {
	parkAfter := c.ParkAfter
	if c.Park == nil || r.Request == nil {
		parkAfter = 0
	}
	running, out := c.openOrTake(ctx, w, r.Beginning, parkAfter)
	r.Beginning = nil // a parked stream must not reference the response
	parked := false
	defer func() {
		// Close must run even after a panic, so it is deferred: a timer that writes to the
		// response of a handler that has returned would end the process.
		if !parked {
			out.Close()
		}
	}()
	s := &serving{Reply: r, out: out, records: r.First}
	r.First = nil
	var err error
	if len(s.records) == 0 {
		// The header is sent now, because the first event may be late, and clients and
		// proxies limit the wait for a header.
		err = out.Flush()
	}
	if err = s.run(running, err); errors.Is(err, errIdle) {
		parked = s.park(c, w)
		if parked {
			return ErrParked
		}
		err = s.run(out.resume(ctx), nil)
	}
	return err
}

// openOrTake opens a stream, or takes the one that b has opened.
func (c Config) openOrTake(ctx context.Context, w http.ResponseWriter, b *Beginning, parkAfter time.Duration) (context.Context, *Stream) {
	if b.Opened() {
		return b.take(parkAfter)
	}
	return c.open(ctx, w, parkAfter)
}

// serving is the state of a reply that is being served.
type serving struct {
	*Reply
	out *Stream
	// records are the records that are not sent yet. final is the event that follows the sent ones at the end; nil for none. The
	// sent ones are not kept, because a task may be large.
	records []*a2a.Record
	final   *a2a.Event
}

// run writes records until the stream ends or is idle. If err is not nil, run writes the
// remaining records and then ends the stream with err.
func (s *serving) run(ctx context.Context, err error) error {
	for {
		if len(s.records) > 0 {
			ended, writeErr := s.write(ctx)
			if writeErr != nil || ended {
				return writeErr
			}
			s.final = s.FinalEvent(&s.records[len(s.records)-1].Event)
			s.records = nil
		}
		if err != nil {
			return s.end(err)
		}
		if s.records, err = s.Stream.Next(ctx); err == nil {
			continue
		}
		// If ctx has ended, run ignores the error of Next. If the reason is an idle stream, run
		// is called again, and the next call of Next repeats an error of the stream itself.
		if cause := context.Cause(ctx); cause != nil {
			// When a write fails, the HTTP server may also end the context. The error of the write
			// is then returned, because it is the reason.
			return cmp.Or(s.out.failure(), cause)
		}
	}
}

// write writes the records. ended is true if one of them ends the response.
func (s *serving) write(ctx context.Context) (ended bool, err error) {
	release, err := s.reserve(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			// The records are not lost if the cause is an idle stream: the parked stream writes
			// them.
			return false, cmp.Or(s.out.failure(), cause)
		}
		return false, s.end(err)
	}
	defer release()
	return s.out.Write(&s.Frame, s.records, s.IsLast)
}

// reserve reserves memory for the largest event whose encoding no other stream shares.
// Write holds one such encoding at a time.
func (s *serving) reserve(ctx context.Context) (release func(), err error) {
	if s.Reserve == nil {
		return func() {}, nil
	}
	largest := 0
	for _, record := range s.records {
		if size := record.Size(); size > largest && !record.Cached(s.Frame.Dialect) {
			largest = size
		}
	}
	return s.Reserve(ctx, largest)
}

// end writes the events after the last record of a stream that ended with err.
func (s *serving) end(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		if s.final == nil {
			return nil
		}
		return s.out.WriteData(&s.Frame, s.Frame.Append(nil, s.final))
	case errors.Is(err, a2a.ErrSlowSubscriber), errors.Is(err, a2a.ErrDraining), errors.Is(err, context.Canceled):
		return err
	default:
		return errors.Join(err, s.out.WriteData(&s.ErrorFrame, s.EncodeError(err)))
	}
}

// FailureOf returns the failure that a binding reports for err, the error of Serve:
//
//   - ErrParked and failures of the sidecar: unchanged,
//   - a2a.ErrDraining if the shutdown cut the stream off,
//   - the error of ctx if the client disconnected before the end of the stream,
//   - nil if the drain ended the stream in time, so that the client can resume it, or if the
//     connection broke,
//   - nil for a slow consumer, whose disconnection FailureOf logs.
func FailureOf(ctx context.Context, log *slog.Logger, method string, err error) error {
	if errors.Is(err, ErrParked) {
		return err
	}
	// The HTTP server ends ctx, too, if a write takes longer than its timeout.
	if errors.Is(err, a2a.ErrSlowSubscriber) || errors.Is(err, ErrStalled) && errors.Is(err, os.ErrDeadlineExceeded) {
		log.InfoContext(ctx, "disconnected slow consumer", "method", method)
		return nil
	}
	if err != nil && errors.Is(context.Cause(ctx), a2a.ErrDraining) {
		return a2a.ErrDraining
	}
	if left := ctx.Err(); left != nil && err != nil {
		return left // httpcall.ClientLeft compares the error with ctx.Err()
	}
	if errors.Is(err, a2a.ErrDraining) {
		return nil // the client can resume
	}
	if errors.Is(err, ErrStalled) {
		return nil // the connection broke
	}
	return err
}

// Open sends the header of a stream. After that, an error can only be sent as an event. The
// returned context also ends when a write to the client has failed.
func (c Config) Open(ctx context.Context, w http.ResponseWriter) (context.Context, *Stream) {
	return c.open(ctx, w, 0)
}

func (c Config) open(ctx context.Context, w http.ResponseWriter, parkAfter time.Duration) (context.Context, *Stream) {
	if c.Interval != nil {
		c.KeepAlive = c.Interval()
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Stream{
		config: c, conn: response{w, http.NewResponseController(w)}, cancel: cancel,
		timer: timer{parkAfter: parkAfter, onIdle: cancel},
	}
	// The write timeout of the server would bound the whole response.
	if err := s.conn.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.fail(err)
	}
	s.startTimer()
	return ctx, s
}

// park tries to park a stream, and reports whether the stream is parked.
func (s *serving) park(c Config, w http.ResponseWriter) bool {
	request := s.Request
	s.Request = nil // a parked stream must not reference the request
	return c.Park(w, request, func(client context.Context, conn Conn) (complete bool) {
		err := s.runParked(client, conn)
		s.out.Close()
		s.OnEnd(client, err)
		return s.out.failure() == nil
	})
}

// runParked runs a parked stream on a goroutine of its own. It recovers from panics,
// because the HTTP server does so only on its own goroutines.
func (s *serving) runParked(client context.Context, conn Conn) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
			s.out.abort(err)
		}
	}()
	s.out.setConn(conn)
	return s.run(s.out.resume(client), nil)
}

// CloseUnlessParked closes a stream whose Serve returned err, unless the stream is parked.
// The OnEnd of a parked stream closes it.
func CloseUnlessParked(stream a2a.Stream, err error) {
	if !errors.Is(err, ErrParked) {
		stream.Close()
	}
}

// setConn sets the connection for all following writes.
func (s *Stream) setConn(conn Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
}

// resume restarts the timer of a stream after an attempt to park it, and returns a new
// context for it.
func (s *Stream) resume(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
	if s.err != nil {
		cancel(s.err)
	}
	s.restartTimer()
	return ctx
}

// abort records err as the error of the stream, so that the response stays incomplete.
func (s *Stream) abort(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}
