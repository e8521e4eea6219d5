// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// reader is a client that reads the streams of one task, one after another.
type reader struct {
	*fleet
	*subject
	name    string
	dialect *client.Dialect
	rng     *rand.Rand
	counts  *counts
	// timeout bounds a stream; 0 for the default of the client.
	timeout time.Duration

	// last is the number of the last event, 0 for none. state and chunksSeen are the state and the number of chunks of the
	// task after the last event.
	last       uint64
	state      string
	chunksSeen int
	ended      bool
	// acknowledged is true after the first event.
	acknowledged bool
	// forked is true if the message created a second task.
	forked bool
}

// read opens a stream, and reads it until it ends, breaks or stop returns true. It records the stream.
func (r *reader) read(ctx context.Context, a *client.Request, m *clientFault, stop func(*history.Event) bool) history.Stream {
	address := r.anyAddress(r.rng)
	record := history.Stream{Client: r.name, Dialect: r.dialect.Name, Server: address, Begin: r.now(), Opening: history.Subscribed}
	switch {
	case a.Text != "":
		record.Opening = history.Sent
	case a.After != nil:
		record.Opening, record.After = history.Resumed, *a.After
	}
	if m != nil && m.breakage == "" {
		a.Buffer = 4 << 10
	}
	a.Timeout = r.timeout
	stream, err := r.dialect.Open(ctx, address, a)
	if err == nil {
		err = r.events(ctx, stream, &record, m, stop)
	}
	record.End = r.now()
	switch {
	case errors.Is(err, io.EOF):
		record.Outcome = history.Ended
	default:
		record.Outcome, record.Reason = client.OutcomeOf(err)
		record.Broken = record.Broken || ctx.Err() != nil
	}
	r.counts.addStream(&record, m)
	r.add(record)
	return record
}

var errStopped = errors.New("the reader stopped")

func (r *reader) events(ctx context.Context, s client.Stream, record *history.Stream, m *clientFault, stop func(*history.Event) bool) error {
	defer func() {
		if record.Broken && m != nil && m.breakage == client.Abandon {
			r.abandon(s)
			return
		}
		s.Close()
	}()
	for {
		item, err := s.Next()
		if err != nil {
			if last := s.Last(); last > 0 && !record.Broken {
				r.last = last
			}
			return err
		}
		if item.TaskID != "" && !r.matchID(item.TaskID, r.now()) {
			record.Broken, r.forked = true, true
			return errStopped
		}
		if len(record.Events) == 0 {
			record.First = r.now()
		}
		item.Text = r.intern(item.Text)
		record.Events = append(record.Events, item.Event)
		r.update(&item.Event)
		if stop(&item.Event) {
			record.Broken = true
			return errStopped
		}
		if m != nil && len(record.Events) == m.after {
			m.inject(ctx, s, record)
		}
	}
}

// update updates the fields of the reader after an event.
func (r *reader) update(e *history.Event) {
	r.acknowledged = true
	if e.Seq > 0 {
		r.last = e.Seq
	} else if e.Kind != history.Standing {
		r.last = 0 // a stream without numbers does not show its position
	}
	if e.Kind != history.Chunk {
		r.state = e.State
	}
	r.ended = r.ended || e.Terminal()
	if e.Text == "" {
		return
	}
	chunk := len(r.script.Chunk(0))
	if e.Kind == history.Snapshot {
		r.chunksSeen = r.chunksIn(e.Text)
	} else if n, ok := script.Number(e.Text); ok {
		r.chunksSeen = n + max(1, len(e.Text)/chunk)
	}
}

// chunksIn returns the number of chunks in the text of a task, which begins with the first chunk.
func (r *reader) chunksIn(text string) (n int) {
	for length := 0; n < r.script.Total() && length < len(text); n++ {
		length += len(r.script.Chunk(n))
	}
	return n
}

// after returns the number of the event after which the reader resumes. It is nil if the reader must start with a
// snapshot.
func (r *reader) after() *uint64 {
	if r.last == 0 {
		return nil
	}
	last := r.last
	return &last
}

// backoff waits before the next attempt.
func (r *reader) backoff(ctx context.Context) {
	select {
	case <-time.After(time.Duration(5+r.rng.IntN(20)) * time.Millisecond):
	case <-ctx.Done():
	}
}
