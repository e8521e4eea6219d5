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
}

// Serve writes a reply until it ends, and returns nil when the client got all
// of it. A stream that may be resumed ends without a word.
func (c Config) Serve(ctx context.Context, w http.ResponseWriter, r *Reply) error {
	ctx, out := c.Open(ctx, w)
	defer out.Close()
	records, err := r.First, error(nil)
	if len(records) == 0 {
		// Nobody knows when the first event comes, and a client or a proxy may
		// not wait that long for a head.
		err = out.Flush()
	}
	var last *a2a.Event
	for {
		if len(records) > 0 {
			closed, writeErr := out.Write(&r.Frame, records, r.Closing)
			if writeErr != nil || closed {
				return writeErr
			}
			last = &records[len(records)-1].Event
		}
		if err != nil {
			return r.end(out, last, err)
		}
		if records, err = r.Stream.Next(ctx); err == nil {
			continue
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
}

func (r *Reply) end(out *Stream, last *a2a.Event, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		if last == nil {
			return nil
		}
		if more := r.Last(last); more != nil {
			return out.WriteData(&r.Frame, r.Frame.Append(nil, more))
		}
		return nil
	case errors.Is(err, a2a.ErrSlowSubscriber), errors.Is(err, a2a.ErrDraining), errors.Is(err, context.Canceled):
		return err
	default:
		return errors.Join(err, out.WriteData(&r.Failure, r.Failed(err)))
	}
}

// Failure returns the error with which Serve ended if it is one. Nobody need
// hear of the others: the client left, or it may resume.
func Failure(ctx context.Context, log *slog.Logger, method string, err error) error {
	if ctx.Err() != nil || errors.Is(err, a2a.ErrDraining) {
		return nil //nolint:nilerr // nothing failed
	}
	if errors.Is(err, a2a.ErrSlowSubscriber) || errors.Is(err, ErrStalled) {
		log.InfoContext(ctx, "cut off stalled stream", "method", method)
		return nil
	}
	return err
}
