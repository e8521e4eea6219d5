// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Reply is a stream that is to be served.
type Reply struct {
	Frame Frame
	// Stream holds what comes after First, which was read before the head so
	// that errors could still be told by other means.
	Stream a2a.Stream
	First  []*a2a.Record
	// Closing reports whether an event is the last one that the dialect
	// allows, whatever the stream still holds.
	Closing func(*a2a.Event) bool
	// Last may add one event after the end of the stream; it is given the last
	// one that was sent, and returns nil for none.
	Last func(last *a2a.Event) *a2a.Event
	// Failed encodes an error that ends the stream, and Failure is its frame.
	Failed  func(error) []byte
	Failure Frame
	// Request is nil for a stream that must not rest. It was read to its end.
	Request *http.Request
	// Ended is told the end of a stream that rested, with what Serve would have
	// returned. Its context is the client's.
	Ended func(ctx context.Context, err error)
}

// ErrResting is what Serve returns of a stream that rests. It goes on without
// the request, which must be let go of; Ended is told of its end.
var ErrResting = errors.New("the stream rests")

// Serve writes a reply until it ends, and returns nil when the client got all
// of it. A stream that may be resumed ends without a word.
func (c Config) Serve(ctx context.Context, w http.ResponseWriter, r *Reply) error {
	quiet := c.Quiet
	if c.Park == nil || r.Request == nil {
		quiet = 0
	}
	running, out := c.open(ctx, w, quiet)
	resting := false
	defer func() {
		// Also when it panics: a timer that writes to the response of a handler
		// which has returned brings down all of the process.
		if !resting {
			out.Close()
		}
	}()
	s := &served{Reply: r, out: out, records: r.First}
	r.First = nil
	var err error
	if len(s.records) == 0 {
		// Nobody knows when the first event comes, and a client or a proxy may
		// not wait that long for a head.
		err = out.Flush()
	}
	if err = s.run(running, err); errors.Is(err, errQuiet) {
		if resting = s.rest(c, w); resting {
			return ErrResting
		}
		err = s.run(out.goOn(ctx), nil)
	}
	return err
}

// served is a reply on its way.
type served struct {
	*Reply
	out *Stream
	// records are not sent yet, and last is the last one that was.
	records []*a2a.Record
	last    *a2a.Event
}

// run writes until the stream ends, or is quiet.
func (s *served) run(ctx context.Context, err error) error {
	for {
		if len(s.records) > 0 {
			closed, writeErr := s.out.Write(&s.Frame, s.records, s.Closing)
			if writeErr != nil || closed {
				return writeErr
			}
			s.last = &s.records[len(s.records)-1].Event
			s.records = nil
		}
		if err != nil {
			return s.end(err)
		}
		if s.records, err = s.Stream.Next(ctx); err == nil {
			continue
		}
		// Of a stream that is quiet an error comes again.
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
}

func (s *served) end(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		if s.last == nil {
			return nil
		}
		if more := s.Last(s.last); more != nil {
			return s.out.WriteData(&s.Frame, s.Frame.Append(nil, more))
		}
		return nil
	case errors.Is(err, a2a.ErrSlowSubscriber), errors.Is(err, a2a.ErrDraining), errors.Is(err, context.Canceled):
		return err
	default:
		return errors.Join(err, s.out.WriteData(&s.Failure, s.Failed(err)))
	}
}

// Failure returns the error with which Serve ended if it is one. Nobody need
// hear of the others: the client left, or it may resume.
func Failure(ctx context.Context, log *slog.Logger, method string, err error) error {
	if errors.Is(err, ErrResting) {
		return err
	}
	if ctx.Err() != nil || errors.Is(err, a2a.ErrDraining) {
		return nil //nolint:nilerr // nothing failed
	}
	if errors.Is(err, a2a.ErrSlowSubscriber) || errors.Is(err, ErrStalled) {
		log.InfoContext(ctx, "cut off stalled stream", "method", method)
		return nil
	}
	return err
}
