// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

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
	if s.cancel = cancel; s.err != nil {
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

// complete reports whether every write succeeded.
func (s *Stream) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil
}
