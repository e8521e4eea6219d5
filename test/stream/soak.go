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

// resources are the metrics of an idle sidecar that must not grow.
var resources = []string{goroutines, "process_open_fds", heap, "a2a_open_streams"}

const (
	heap       = "go_memory_classes_heap_objects_bytes"
	goroutines = "go_goroutines"
	// scrapeGoroutines is a tolerance: a scrape counts the goroutines that serve it, so the metrics of an idle process
	// report 3 to 7 goroutines.
	scrapeGoroutines = 4
	// idleTimeout is longer than the idle timeout of a connection. For this timeout, net/http keeps some KB for each HTTP/2
	// connection that breaks in the middle of a stream: it stops the idle timer before it closes the streams, and starts the
	// timer again when it closes the last stream.
	idleTimeout = 125 * time.Second
)

// runSoak connects and disconnects in all ways and dialects. Afterwards, the resources of the idle sidecar must not have
// grown.
func runSoak(ctx context.Context, s *settings, r *report) error {
	connects, rounds := 100_000, 4
	if s.short {
		connects, rounds = 2_000, 1
	}
	f, stop, err := s.fleet(ctx, fleetOptions{grace: 5 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	n := newCounts()
	// All connections read one task, which has some chunks and waits for input.
	all, wait := f.startWatchedTasks(ctx, n, s.seed, 1, 1, func(int) script.Script {
		return script.Script{Token: fmt.Sprintf("k%d", s.seed), Turn: 1, Turns: 2, Chunks: 20, Size: 100}
	})
	wait()
	k := &soak{fleet: f, task: all[0].id(), counts: n, rounds: rounds}
	if k.task == "" {
		return errors.New("the task did not start")
	}
	// Warm up, so that resources that the sidecar allocates only once do not count as growth.
	if err := k.connect(ctx, s.seed, connects/10); err != nil {
		return err
	}
	before, err := k.idleResources(ctx)
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
		case <-time.After(idleTimeout):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	after, err := k.idleResources(ctx)
	if err != nil {
		return err
	}
	r.Tally = n.snapshot()
	r.addFinding("connects and disconnects", true, "any number", fmt.Sprintf("%d in %v", connects, took.Round(time.Second)))
	r.addFinding("streams that were refused", k.refused.Load() == 0, "0", fmt.Sprint(k.refused.Load()))
	for _, name := range resources {
		bound := before[name] * 1.05
		want := fmt.Sprintf("at most 5 %% over %.0f", before[name])
		switch {
		case s.short && name == heap:
			bound, want = math.Inf(1), fmt.Sprintf("any number (%.0f before; a short run does not wait for a collection)", before[name])
		case name == goroutines:
			bound, want = bound+scrapeGoroutines, fmt.Sprintf("%s, plus %d of a scrape", want, scrapeGoroutines)
		}
		r.addFinding(name+" when idle", after[name] <= bound, want, fmt.Sprintf("%.0f", after[name]))
	}
	return nil
}

// soak connects to a sidecar again and again.
type soak struct {
	*fleet
	task    string
	counts  *counts
	rounds  int
	refused atomic.Int64
}

// connect makes a number of connections.
func (k *soak) connect(ctx context.Context, seed uint64, times int) error {
	const workers = 16
	group, failed := errgroup.WithContext(ctx)
	for worker := range workers {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for i := worker; i < times; i += workers {
				if failed.Err() != nil {
					return failed.Err()
				}
				if err := k.connectOnce(failed, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// connectOnce makes one connection and ends it.
func (k *soak) connectOnce(ctx context.Context, r *rand.Rand) error {
	address, dialect := k.anyAddress(r), k.dialects[r.IntN(len(k.dialects))]
	switch r.IntN(8) {
	case 0: // a client that sends nothing
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	case 1: // a client that reads the task once
		_, err := dialect.Get(ctx, address, k.task)
		return err
	}
	how := client.Breakages[r.IntN(len(client.Breakages))]
	record := history.Stream{Dialect: dialect.Name, Opening: history.Subscribed, Broken: true}
	a := &client.Request{TaskID: k.task}
	if r.IntN(2) == 0 {
		a.After, record.Opening = new(uint64), history.Resumed
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
	record.Events = []history.Event{item.Event}
	stream.Break(how)
	k.counts.addStream(&record, &clientFault{after: 1, breakage: how})
	return nil
}

// idleResources returns the smallest values of the resources. Garbage collection runs in an idle sidecar only if
// it has garbage, so each round creates some and then waits.
func (k *soak) idleResources(ctx context.Context) (map[string]float64, error) {
	const garbage = 600
	var least map[string]float64
	for range k.rounds {
		for range garbage {
			if _, err := client.Auditor.Get(ctx, k.sidecars[0].address, k.task); err != nil {
				return nil, err
			}
		}
		// Wait between the scrapes, because each scrape makes the sidecar work.
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := k.sidecars[0].gauges(ctx, resources...)
		if err != nil {
			return nil, err
		}
		if least == nil {
			least = now
		}
		for _, name := range resources {
			least[name] = min(least[name], now[name])
		}
	}
	return least, nil
}
