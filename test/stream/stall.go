// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// crowd is one task, some of whose readers stop reading. It says more than the
// 4 MiB that a kernel holds for one connection, and less than the 16 MiB that a
// log holds.
type crowd struct {
	readers, stalled int
	chunks, size     int
	// every is the time between chunks: the readers are on the same machine.
	every time.Duration
	// room is what the sidecar may grow by.
	room int64
}

// stalled lets readers stop in the midst of a stream. The others get all of it,
// the stalled are cut off, and may resume where they were.
func stalled(ctx context.Context, s *settings, r *report) error {
	crowds := []crowd{{2, 1, 200, 64 << 10, 10 * time.Millisecond, 160 << 20}, {1000, 100, 250, 20 << 10, 360 * time.Millisecond, 256 << 20}}
	if s.short {
		crowds = []crowd{{20, 2, 300, 20 << 10, 10 * time.Millisecond, 128 << 20}}
	}
	n := newCounts()
	for _, c := range crowds {
		_, _ = fmt.Fprintf(s.progress, "%d of %d readers stall\n", c.stalled, c.readers)
		if err := c.run(ctx, s, n, r); err != nil {
			return err
		}
	}
	r.Tally = n.now()
	return nil
}

const (
	// cutWithin is how long a stalled reader may keep its connection.
	cutWithin = 30 * time.Second
	// stalledBuffer is what the kernel takes in for a reader that stalls.
	stalledBuffer = 64 << 10
)

func (c *crowd) run(ctx context.Context, s *settings, n *counts, r *report) error {
	f, stop, err := s.fleet(ctx, shape{grace: 5 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	a := newSubject(script.Script{
		Token: fmt.Sprintf("c%d-%d", s.seed, c.readers), Turn: 1, Turns: 1, Chunks: c.chunks, Size: c.size, Every: c.every,
	})
	reader := func(name string, i int) *reader {
		return &reader{
			fleet: f, subject: a, name: name, counts: n, dialect: client.Dialects[i%len(client.Dialects)],
			rng: rand.New(rand.NewPCG(s.seed, uint64(i))), patience: 5 * time.Minute,
		}
	}
	p := f.sidecars[0].process
	before, err := p.RSS()
	if err != nil {
		return err
	}

	var reading, stalling sync.WaitGroup
	healthy := make([]*listener, 0, c.readers)
	release := make(chan struct{})
	var slow []*listener
	for i := range c.readers {
		each := &listener{reader: reader(fmt.Sprint("reader ", i), i)}
		if i > 0 && i <= c.stalled {
			slow = append(slow, each)
			stalling.Go(func() { each.stall(ctx, release) })
			continue
		}
		healthy = append(healthy, each)
		reading.Go(func() { each.leg = each.attend(ctx, i == 0, each.heard) })
	}
	reading.Wait()
	ended := time.Now()
	for ctx.Err() == nil && time.Since(ended) < cutWithin {
		open, err := f.sidecars[0].gauge(ctx, "a2a_open_streams")
		if err != nil {
			return err
		}
		if open == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	cut := time.Since(ended)
	after, err := p.RSS()
	if err != nil {
		return err
	}
	close(release) // they wake up, find out, and come back
	stalling.Wait()
	c.judge(r, a, healthy, slow)
	name := fmt.Sprintf("%d of %d stalled: ", c.stalled, c.readers)
	r.find(name+"the last stalled one was cut off after the end of the others", cut < cutWithin, "within "+cutWithin.String(), cut.Round(100*time.Millisecond).String())
	r.find(name+"memory of the sidecar grew by", after-before <= c.room, fmt.Sprintf("at most %d MiB", c.room>>20), fmt.Sprintf("%d MiB", (after-before)>>20))
	return nil
}

// listener is a reader with its first stream.
type listener struct {
	*reader
	leg history.Leg
	// chunks are when it had so many.
	chunks []time.Duration
}

// tooSlow is how far behind a reader is that a sidecar takes for one that stalls:
// a write to it waits for 15 s, and what the kernel holds for it comes late.
const tooSlow = 10 * time.Second

// cutOff reports whether a reader was cut off for that. All readers are one
// process, and share a machine with what they read from: it may be too slow for
// some of them.
func (r *listener) cutOff(first map[int]time.Duration) bool {
	if r.leg.Outcome != history.Cut {
		return false
	}
	if n := len(r.chunks); n > 0 {
		return r.chunks[n-1]-first[n-1] > tooSlow
	}
	return r.silence() > tooSlow
}

// heard notes when the chunks came that it has by now.
func (r *listener) heard() {
	for now := r.now(); len(r.chunks) < r.said; {
		r.chunks = append(r.chunks, now)
	}
}

// silence is how long it had heard nothing when its stream ended.
func (r *listener) silence() time.Duration {
	if n := len(r.chunks); n > 0 {
		return r.leg.End - r.chunks[n-1]
	}
	return r.leg.End - r.leg.Begin
}

// firsts returns when the first reader had each chunk.
func firsts(healthy []*listener) map[int]time.Duration {
	first := map[int]time.Duration{}
	for _, each := range healthy {
		for i, at := range each.chunks {
			if was, known := first[i]; !known || at < was {
				first[i] = at
			}
		}
	}
	return first
}

// behind is how much later than the first reader of a chunk the others had it,
// but for one in a hundred.
func behind(healthy []*listener, first map[int]time.Duration) time.Duration {
	var all []time.Duration
	for _, each := range healthy {
		for i, at := range each.chunks {
			all = append(all, at-first[i])
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// stall reads where a stream begins and no more, until it is released; then it
// reads what is left of it, and resumes.
func (r *listener) stall(ctx context.Context, release <-chan struct{}) {
	select {
	case <-r.known:
	case <-ctx.Done():
		return
	}
	first := true
	after := new(uint64)
	for !r.over && ctx.Err() == nil {
		a := &client.Ask{TaskID: r.id(), After: after}
		if first {
			a.Buffer = stalledBuffer
		}
		waits := first
		leg := r.readStalled(ctx, a, func() {
			if waits {
				waits = false
				<-release
			}
		})
		if first {
			r.leg, first = leg, false
		}
		if leg.Outcome == history.NotFound || leg.Outcome == history.Refused || leg.Outcome == history.Over {
			return
		}
		if after = r.after(); after == nil {
			after = new(uint64) // of gRPC, where only an orderly end tells a number
		}
	}
}

// readStalled is read with a pause after the first event. That it is cut off is
// its own doing.
func (r *listener) readStalled(ctx context.Context, a *client.Ask, pause func()) history.Leg {
	leg := r.read(ctx, a, nil, func(*history.Event) bool { pause(); return false })
	if leg.Outcome == history.Cut {
		r.excuse(r.name)
	}
	return leg
}

// excuse says that the streams of a reader broke by its own doing.
func (t *subject) excuse(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.history.Legs {
		if l := &t.history.Legs[i]; l.Client == name && l.Outcome == history.Cut {
			t.history.Legs[i].Broken = true
		}
	}
}

// judge checks what all of them saw.
func (c *crowd) judge(r *report, a *subject, healthy, slow []*listener) {
	whole, late, cut, resumed := 0, 0, 0, 0
	first := firsts(healthy)
	for _, each := range healthy {
		switch {
		case each.leg.Outcome == history.Ended && each.over:
			whole++
			continue
		case each.cutOff(first):
			late++
			a.excuse(each.name)
			continue
		}
		l := &each.leg
		r.Refused = append(r.Refused, refused{
			Task: &history.Task{ID: a.id(), Legs: []history.Leg{*l}}, Violations: []history.Violation{{
				Rule: history.Unexcused,
				Text: fmt.Sprintf("%v: %s %s after %d events in %v, the last %v before", l, l.Outcome, l.Reason, len(l.Events), l.End-l.Begin, each.silence()),
			}},
		})
	}
	for _, each := range slow {
		if each.leg.Outcome != history.Ended {
			cut++
		}
		if each.over {
			resumed++
		}
	}
	for _, v := range history.Check(&a.history, &history.Faults{}) {
		if v.Text != "the task was not read after its end" && v.Text != "the log was not read after the end" {
			r.Refused = append(r.Refused, refused{Task: &history.Task{ID: a.id()}, Violations: []history.Violation{v}})
		}
	}
	name := fmt.Sprintf("%d of %d stalled: ", c.stalled, c.readers)
	r.find(name+"healthy readers that got all", whole+late == len(healthy), fmt.Sprint(len(healthy)-late), fmt.Sprint(whole))
	r.find(name+"others that the machine was too slow for", late <= len(healthy)/10, "at most a tenth", fmt.Sprint(late))
	r.find(name+"99 of 100 chunks were with a healthy reader after the first one within", true, "any time", behind(healthy, first).Round(100*time.Microsecond).String())
	r.find(name+"stalled ones that were cut off", cut == len(slow), fmt.Sprint(len(slow)), fmt.Sprint(cut))
	r.find(name+"stalled ones that got the rest later", resumed == len(slow), fmt.Sprint(len(slow)), fmt.Sprint(resumed))
}
