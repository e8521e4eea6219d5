// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// benchAgent sends chunk events, chunks in total, in batches of batch events.
type benchAgent struct{ chunks, batch int }

func (c benchAgent) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error {
	events := make([]a2a.Event, 0, c.batch)
	for range c.chunks {
		if events = append(events, chunk("twenty bytes of text")); len(events) < c.batch {
			continue
		}
		if err := emit(events); err != nil {
			return err
		}
		events = events[:0]
	}
	return emit(events)
}

func newBench(b *testing.B, agent backend.Backend) *engine.Engine {
	b.Helper()
	e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: agent})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Drain(context.Background()) })
	return e
}

func drainStream(b *testing.B, s a2a.Stream) {
	b.Helper()
	defer s.Close()
	for {
		if _, err := s.Next(b.Context()); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of an event must not depend on the number of events before it.
func BenchmarkTurn(b *testing.B) {
	for _, batch := range []int{1, 16} {
		for _, chunks := range []int{20, 100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("batch=%d/chunks=%d", batch, chunks), func(b *testing.B) {
				e := newBench(b, benchAgent{chunks, batch})
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					s, err := e.Stream(b.Context(), newRequest("", "hi"))
					if err != nil {
						b.Fatal(err)
					}
					drainStream(b, s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chunks), "ns/event")
			})
		}
	}
}

// The cost of a subscriber is the delivery of its own events only.
func BenchmarkSubscribers(b *testing.B) {
	const chunks = 100
	for _, subscribers := range []int{1, 10, 100, 1_000} {
		b.Run(fmt.Sprintf("subscribers=%d", subscribers), func(b *testing.B) {
			e := newBench(b, benchAgent{chunks, 1})
			for i := 0; b.Loop(); i++ {
				done := make(chan struct{})
				for range subscribers {
					go func() {
						s, err := e.Stream(b.Context(), newRequest(fmt.Sprint("m", i), "hi"))
						if err == nil {
							drainStream(b, s)
						}
						done <- struct{}{}
					}()
				}
				for range subscribers {
					<-done
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chunks*subscribers), "ns/delivery")
		})
	}
}

func BenchmarkSendTask(b *testing.B) {
	e := newBench(b, benchAgent{chunks: 2, batch: 2})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Send(b.Context(), newRequest("", "hi")); err != nil {
			b.Fatal(err)
		}
	}
}

type direct struct{}

func (direct) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error {
	return emit([]a2a.Event{message("hello")})
}

func BenchmarkSendMessage(b *testing.B) {
	e := newBench(b, direct{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Send(b.Context(), newRequest("", "hi")); err != nil {
			b.Fatal(err)
		}
	}
}
