// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// chunkAgent sends chunks until stop is closed, but not fewer than least, and then ends the
// task.
type chunkAgent struct {
	stop  chan struct{}
	least int
}

func (a chunkAgent) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error {
	for i := 0; ; i++ {
		if i >= a.least {
			select {
			case <-a.stop:
				return emit([]a2a.Event{status(a2a.StateCompleted)})
			default:
			}
		}
		if err := emit([]a2a.Event{chunk("x")}); err != nil {
			return err
		}
	}
}

// subscriber has the event number after which a subscriber began, the number of chunks in
// its snapshot, and the records that it received.
type subscriber struct {
	from    uint64
	parts   int
	records []*a2a.Record
}

// readAll reads a stream to its end. It checks that no event is missing or repeated.
func (p *subscriber) readAll(t *testing.T, s a2a.Stream) {
	next := p.from
	for {
		records, err := s.Next(t.Context())
		for _, r := range records {
			if r.Task != nil && len(p.records) == 0 {
				p.from, next = r.Seq, r.Seq
				if len(r.Task.Artifacts) > 0 {
					p.parts = len(r.Task.Artifacts[0].Parts[0].Text)
				}
				continue
			}
			if next++; r.Seq != next {
				t.Errorf("record %d, want %d", r.Seq, next)
				return
			}
			p.records = append(p.records, r)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("Next() error = %v", err)
			}
			return
		}
	}
}

// 1,000 subscribers join while the agent sends events. Half of them resume after the number
// of an event. All receive the same records in the same order, from the start of each
// subscriber to the end.
func TestWire12_ThousandSubscribersSeeOneOrder(t *testing.T) {
	const subscribers = 1_000
	agent := chunkAgent{stop: make(chan struct{}), least: 200}
	e, err := engine.New(engine.Options{Store: memory.New(memory.Options{MaxLogEvents: 1 << 20, MaxBytes: 1 << 30, MaxLogBytes: 1 << 29}), Backend: agent})
	if err != nil {
		t.Fatal(err)
	}
	request := newRequest("m", "hi")
	request.ReturnImmediately = true
	event, err := e.Send(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	places := make([]subscriber, subscribers)
	var in atomic.Int64
	var wg sync.WaitGroup
	for i := range places {
		wg.Go(func() {
			r := &a2a.SubscribeRequest{Owner: "owner", TaskID: event.Task.ID}
			if i%2 == 0 {
				after := uint64(i%40) + 2
				r.After, places[i].from = &after, after
			}
			s, err := e.Subscribe(t.Context(), r)
			if in.Add(1) == subscribers {
				close(agent.stop)
			}
			if err != nil {
				t.Errorf("Subscribe() error = %v", err)
				return
			}
			defer s.Close()
			places[i].readAll(t, s)
		})
	}
	wg.Wait()
	whole, err := e.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: event.Task.ID, After: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	bySeq := map[uint64]*a2a.Record{}
	for last := uint64(0); ; {
		records, err := whole.Next(t.Context())
		for _, r := range records {
			bySeq[r.Seq], last = r, r.Seq
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err, last)
		}
	}
	end := uint64(len(bySeq)) + 1 // the first is the client's message
	for i := range places {
		p := &places[i]
		if p.from > end { // it asked for events after the last one
			continue
		}
		if got := p.from + uint64(len(p.records)); got != end {
			t.Fatalf("subscriber %d came in at %d and saw %d records of %d", i, p.from, len(p.records), end)
		}
		for _, r := range p.records {
			if bySeq[r.Seq] != r {
				t.Fatalf("subscriber %d saw another record %d", i, r.Seq)
			}
		}
		// A snapshot contains exactly the events up to its number. Three of them are no
		// chunks: message, submitted and working.
		if p.parts > 0 && uint64(p.parts) != p.from-3 {
			t.Fatalf("subscriber %d: snapshot %d holds %d chunks", i, p.from, p.parts)
		}
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A stalled subscriber delays neither the agent nor other subscribers.
func TestWire12_SlowConsumerDelaysNoOther(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		for range 10 {
			stalled, err := b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID})
			if err != nil {
				t.Fatal(err)
			}
			defer stalled.Close()
		}
		fast := b.subscribe(c.TaskID, nil)
		want := "task:working"
		for i := range 100 {
			// fast.want does not advance the fake clock, so it does not see a chunk that
			// arrives after a delay.
			c.mustEmit(chunk("x"))
			want += map[bool]string{true: " artifact:turn-1=x", false: " artifact:turn-1+x"}[i == 0]
			fast.want(t, want)
		}
	})
}

func TestWire12_ResumeAcrossRuns(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(withChosenID("mine", "one"))
		b.nextCall().finishTask(status(a2a.StateCompleted)) // event 3
		b.send(withRestart(withChosenID("mine", "two")))    // events 4 and 5
		b.nextCall().finishTask(status(a2a.StateFailed))    // event 6
		for after, want := range map[uint64]string{
			2: "status:completed EOF", 3: "status:working status:failed EOF", 5: "status:failed EOF", 6: "task:failed EOF", 7: "task:failed EOF",
		} {
			b.subscribe("mine", &after).want(t, want)
		}
	})
}
