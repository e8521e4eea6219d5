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

// A stream on which nothing happens has to wait, and to notice when its client
// leaves. What the HTTP server keeps for it is made for requests: so a quiet
// stream is taken out of its hands, and goes on from a goroutine that has
// nothing below it.

// Parked is a response that was taken out of a server's hands.
type Parked = connection

// Park has serve write the rest of a response, and reports whether it does. The
// context that serve is given is the client's; serve returns whether the
// response is whole.
type Park func(w http.ResponseWriter, r *http.Request, serve func(context.Context, Parked) (whole bool)) bool

// errQuiet ends the wait of a stream that may rest.
var errQuiet = errors.New("nothing happens on the stream")

// Close closes a stream whose serving ended with err, unless that goes on: then
// Ended does.
func Close(stream a2a.Stream, err error) {
	if !errors.Is(err, ErrResting) {
		stream.Close()
	}
}

// rest parks a stream, if it can be.
func (s *served) rest(c Config, w http.ResponseWriter) bool {
	request := s.Request
	s.Request = nil // or it would be kept as long as the stream
	return c.Park(w, request, func(client context.Context, parked Parked) (whole bool) {
		err := s.restful(client, parked)
		s.out.Close()
		s.Ended(client, err)
		return s.out.intact()
	})
}

// restful is run, on a goroutine where nobody else deals with a panic.
func (s *served) restful(client context.Context, parked Parked) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
			s.out.abandon(err)
		}
	}()
	s.out.moveTo(parked)
	return s.run(s.out.goOn(client), nil)
}

// moveTo has what follows written elsewhere.
func (s *Stream) moveTo(to connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}

// goOn returns the context of a stream that was quiet.
func (s *Stream) goOn(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = cancel; s.err != nil {
		cancel(s.err)
	}
	s.settled()
	return ctx
}

// abandon leaves a response as it is: what is missing must not look whole.
func (s *Stream) abandon(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// intact reports whether all was written that should have been.
func (s *Stream) intact() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil
}
