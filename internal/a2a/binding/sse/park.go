// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Park takes the connection of a response out of the HTTP server and calls serve
// with it on another goroutine, which saves the server's stack and buffers while
// a stream is idle. It returns false, and does nothing, if the connection cannot
// be parked. The context of serve ends when the client leaves; serve returns
// whether the response is complete.
type Park func(w http.ResponseWriter, r *http.Request, serve func(context.Context, Conn) (complete bool)) bool

// ErrParked is returned by Serve if the stream is parked: it continues without
// the request, which the caller must not keep. Reply.OnEnd is called at its end.
var ErrParked = errors.New("stream is parked")

// errIdle cancels the wait of a stream for its next event so that it is parked.
var errIdle = errors.New("stream is idle")

// CloseUnlessParked closes a stream whose Serve returned err. OnEnd closes a
// parked stream.
func CloseUnlessParked(stream a2a.Stream, err error) {
	if !errors.Is(err, ErrParked) {
		stream.Close()
	}
}

// park parks a stream, and reports whether it did.
func (s *serving) park(c Config, w http.ResponseWriter) bool {
	request := s.Request
	s.Request = nil // a parked stream must not keep it
	return c.Park(w, request, func(client context.Context, conn Conn) (complete bool) {
		err := s.runParked(client, conn)
		s.out.Close()
		s.OnEnd(client, err)
		return s.out.complete()
	})
}

// runParked is run on the goroutine of a parked stream. It recovers from panics,
// because no handler of the HTTP server is below it.
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

// setConn sets the connection that is written to from now on.
func (s *Stream) setConn(conn Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
}

// resume restarts the timer of a stream that was to be parked, and returns its
// new context.
func (s *Stream) resume(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel = cancel; s.err != nil {
		cancel(s.err)
	}
	s.restartTimer()
	return ctx
}

// abort leaves the response incomplete.
func (s *Stream) abort(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// complete reports whether every write succeeded.
func (s *Stream) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil
}
