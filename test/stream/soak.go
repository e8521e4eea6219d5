// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// what a sidecar holds when it rests.
var held = []string{goroutines, "process_open_fds", heap, "a2a_open_streams"}

const (
	heap       = "go_memstats_heap_alloc_bytes"
	goroutines = "go_goroutines"
	// scraping is how many goroutines of a scrape the same scrape may happen to
	// count: the registry of a process that does nothing else says 3 to 7.
	scraping = 4
	// lingering is more than the idle timeout of a connection. net/http keeps
	// some KB of each of HTTP/2 that breaks in the midst of a stream for so long:
	// it stops its idle timer before it closes the streams, the last of which
	// starts it again.
	lingering = 125 * time.Second
)

// soaked connects and disconnects in all ways and dialects. Afterwards the
// sidecar holds what it held before.
func soaked(ctx context.Context, s *settings, r *report) error {
	connects, rounds := 100_000, 4
	if s.short {
		connects, rounds = 2_000, 1
	}
	f, stop, err := s.fleet(ctx, shape{grace: 5 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	n := newCounts()
	// The task that all of them look at has said something, and waits.
	all, wait := f.audiences(ctx, n, s.seed, 1, 1, func(int) script.Script {
		return script.Script{Token: fmt.Sprintf("k%d", s.seed), Turn: 1, Turns: 2, Chunks: 20, Size: 100}
	})
	wait()
	k := &soak{fleet: f, task: all[0].id(), counts: n, rounds: rounds}
	if k.task == "" {
		return errors.New("the task did not begin")
	}
	// What is made once and kept is made before.
	if err := k.connect(ctx, s.seed, connects/10); err != nil {
		return err
	}
	before, err := k.rests(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := k.connect(ctx, s.seed+1, connects); err != nil {
		return err
	}
	took := time.Since(begin)
	if !s.short {
		select {
		case <-time.After(lingering):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	after, err := k.rests(ctx)
	if err != nil {
		return err
	}
	r.Tally = n.now()
	r.find("connects and disconnects", true, "any number", fmt.Sprintf("%d in %v", connects, took.Round(time.Second)))
	r.find("streams among them that were refused", k.refused.Load() == 0, "0", fmt.Sprint(k.refused.Load()))
	for _, name := range held {
		bound := before[name] * 1.05
		want := fmt.Sprintf("at most 5 %% over %.0f", before[name])
		switch {
		case s.short && name == heap:
			bound, want = math.Inf(1), fmt.Sprintf("any number, before %.0f: it is too early", before[name])
		case name == goroutines:
			bound, want = bound+scraping, fmt.Sprintf("%s, and %d of a scrape", want, scraping)
		}
		r.find(name+" at rest", after[name] <= bound, want, fmt.Sprintf("%.0f", after[name]))
	}
	return nil
}

// soak is a sidecar that many come to and leave.
type soak struct {
	*fleet
	task    string
	counts  *counts
	rounds  int
	refused atomic.Int64
}

// connect comes and leaves so many times.
func (k *soak) connect(ctx context.Context, seed uint64, times int) error {
	const abreast = 16
	group, failed := errgroup.WithContext(ctx)
	for worker := range abreast {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for i := worker; i < times; i += abreast {
				if failed.Err() != nil {
					return failed.Err()
				}
				if err := k.visit(failed, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// visit is one connection, and how it ends.
func (k *soak) visit(ctx context.Context, r *rand.Rand) error {
	address, dialect := k.any(r), client.Dialects[r.IntN(len(client.Dialects))]
	switch r.IntN(8) {
	case 0: // somebody who says nothing
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	case 1: // somebody who only asks
		_, err := dialect.Get(ctx, address, k.task)
		return err
	}
	how := client.Breakages[r.IntN(len(client.Breakages))]
	leg := history.Leg{Dialect: dialect.Name, Opening: history.Subscribed, Broken: true}
	a := &client.Ask{TaskID: k.task}
	if r.IntN(2) == 0 {
		a.After, leg.Opening = new(uint64), history.Resumed
	}
	stream, err := dialect.Open(ctx, address, a)
	if err != nil {
		return err
	}
	defer stream.Close()
	item, err := stream.Next()
	if err != nil {
		k.refused.Add(1)
		return nil
	}
	leg.Events = []history.Event{item.Event}
	stream.Break(how)
	k.counts.leg(&leg, &mishap{after: 1, breaks: how})
	return nil
}

// rests returns what the sidecar holds at rest. It collects garbage when it has
// some and nothing to do, so it is given some, and looked at when it has rested.
func (k *soak) rests(ctx context.Context) (map[string]float64, error) {
	const garbage = 600
	var least map[string]float64
	for range k.rounds {
		for range garbage {
			if _, err := client.Auditor.Get(ctx, k.sidecars[0].address, k.task); err != nil {
				return nil, err
			}
		}
		// To be looked at is work, too.
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := k.sidecars[0].gauges(ctx, held...)
		if err != nil {
			return nil, err
		}
		if least == nil {
			least = now
		}
		for _, name := range held {
			least[name] = min(least[name], now[name])
		}
	}
	return least, nil
}
