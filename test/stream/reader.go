// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// subject is a task that is watched, and what was seen of it.
type subject struct {
	script script.Script
	// known is closed when the server has told of the task.
	known <-chan struct{}
	tell  func()

	mu      sync.Mutex
	history history.Task
	// abandoned are connections that nobody reads any more.
	abandoned []client.Stream
}

func newSubject(s script.Script) *subject {
	known := make(chan struct{})
	t := &subject{script: s, known: known, tell: sync.OnceFunc(func() { close(known) })}
	t.history.Turns = s.Turns
	for i := range s.Total() {
		t.history.Want = append(t.history.Want, s.Chunk(i))
	}
	return t
}

func (t *subject) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.history.ID
}

// named takes the id that an event has, and reports whether it is the task's.
func (t *subject) named(id string, at time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.history.ID == "" {
		t.history.ID = id
	}
	if t.history.ID == id {
		t.tell()
		return true
	}
	first := at
	for i := range t.history.Legs {
		first = min(first, t.history.Legs[i].Begin)
	}
	t.history.Others = append(t.history.Others, history.Other{ID: id, First: first, Then: at})
	return false
}

// call names a task before the server has heard of it.
func (t *subject) call(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.ID = id
}

func (t *subject) add(l history.Leg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.Legs = append(t.history.Legs, l)
}

func (t *subject) gaveUp(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.GaveUp = append(t.history.GaveUp, name)
}

func (t *subject) abandon(s client.Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandoned = append(t.abandoned, s)
}

func (t *subject) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.abandoned {
		s.Close()
	}
	t.abandoned = nil
}

// reader is a client that reads streams of one task, one after the other.
type reader struct {
	*fleet
	*subject
	name    string
	dialect *client.Dialect
	rng     *rand.Rand
	counts  *counts
	// patience bounds a stream, if not as its client does.
	patience time.Duration

	// last is the number of the last event that it saw, 0 for none; state is the
	// one that it knows of, and said how many chunks it knows of.
	last  uint64
	state string
	said  int
	over  bool
	// acknowledged is true once it got an event.
	acknowledged bool
	// other is true once its message made another task.
	other bool
}

// mishap is what happens to a reader in the midst of a stream.
type mishap struct {
	// after so many events.
	after int
	// breaks is how, "" for a reader that rests for a while.
	breaks client.Breakage
	rest   time.Duration
}

// plan makes up a mishap, or none.
func (r *reader) plan(chance float64) *mishap {
	if r.rng.Float64() >= chance {
		return nil
	}
	m := &mishap{after: 1 + r.rng.IntN(max(r.script.Total()/2, 1))}
	if i := r.rng.IntN(len(client.Breakages) + 1); i < len(client.Breakages) {
		m.breaks = client.Breakages[i]
	} else {
		m.rest = time.Duration(50+r.rng.IntN(450)) * time.Millisecond
	}
	return m
}

// read opens a stream and reads it until it ends, breaks, or enough says so.
// What was seen is written down.
func (r *reader) read(ctx context.Context, a *client.Ask, m *mishap, enough func(*history.Event) bool) history.Leg {
	leg := history.Leg{Client: r.name, Dialect: r.dialect.Name, Begin: r.now(), Opening: history.Subscribed}
	switch {
	case a.Text != "":
		leg.Opening = history.Sent
	case a.After != nil:
		leg.Opening, leg.After = history.Resumed, *a.After
	}
	if m != nil && m.breaks == "" {
		a.Buffer = 4 << 10
	}
	a.Patience = r.patience
	stream, err := r.dialect.Open(ctx, r.any(r.rng), a)
	if err == nil {
		err = r.events(ctx, stream, &leg, m, enough)
	}
	leg.End = r.now()
	switch {
	case errors.Is(err, io.EOF):
		leg.Outcome = history.Ended
	default:
		leg.Outcome, leg.Reason = client.OutcomeOf(err)
		leg.Broken = leg.Broken || ctx.Err() != nil
	}
	r.counts.leg(&leg, m)
	r.add(leg)
	return leg
}

var errEnough = errors.New("the reader has read enough")

func (r *reader) events(ctx context.Context, s client.Stream, leg *history.Leg, m *mishap, enough func(*history.Event) bool) error {
	defer func() {
		if leg.Broken && m != nil && m.breaks == client.Abandon {
			r.abandon(s)
			return
		}
		s.Close()
	}()
	for {
		item, err := s.Next()
		if err != nil {
			if last := s.Last(); last > 0 && !leg.Broken {
				r.last = last
			}
			return err
		}
		if item.TaskID != "" && !r.named(item.TaskID, r.now()) {
			leg.Broken, r.other = true, true
			return errEnough
		}
		item.Text = r.same(item.Text)
		leg.Events = append(leg.Events, item.Event)
		r.saw(&item.Event)
		if enough(&item.Event) {
			leg.Broken = true
			return errEnough
		}
		if m != nil && len(leg.Events) == m.after {
			m.happen(ctx, s, leg)
		}
	}
}

func (m *mishap) happen(ctx context.Context, s client.Stream, leg *history.Leg) {
	if m.breaks != "" {
		leg.Broken = true
		s.Break(m.breaks)
		return
	}
	select {
	case <-time.After(m.rest):
	case <-ctx.Done():
	}
}

// same returns the chunk that is wanted in the place of one that equals it: many
// readers need not hold all that they heard.
func (t *subject) same(text string) string {
	if n, ok := script.Number(text); ok && n < len(t.history.Want) && t.history.Want[n] == text {
		return t.history.Want[n]
	}
	return text
}

// saw keeps what a reader knows.
func (r *reader) saw(e *history.Event) {
	r.acknowledged = true
	if e.Seq > 0 {
		r.last = e.Seq
	} else if e.Kind != history.Standing {
		r.last = 0 // where a stream without numbers stands nobody knows
	}
	if e.Kind != history.Chunk {
		r.state = e.State
	}
	r.over = r.over || e.Terminal()
	if e.Text == "" {
		return
	}
	chunk := len(r.script.Chunk(0))
	if e.Kind == history.Snapshot {
		r.said = r.chunksIn(e.Text)
	} else if n, ok := script.Number(e.Text); ok {
		r.said = n + max(1, len(e.Text)/chunk)
	}
}

// chunksIn counts the chunks of all that a task has said.
func (r *reader) chunksIn(text string) (n int) {
	for length := 0; n < r.script.Total() && length < len(text); n++ {
		length += len(r.script.Chunk(n))
	}
	return n
}

// after is from where the reader goes on: nil for a snapshot.
func (r *reader) after() *uint64 {
	if r.last == 0 {
		return nil
	}
	last := r.last
	return &last
}

// rest waits a moment before the next try.
func (r *reader) rest(ctx context.Context) {
	select {
	case <-time.After(time.Duration(5+r.rng.IntN(20)) * time.Millisecond):
	case <-ctx.Done():
	}
}
