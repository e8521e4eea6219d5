// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// runOutages causes outages of the store while sidecars run tasks: it pauses Redis, kills it and cuts its
// connections. No event may be lost, no task may fail, clients get the answer to retry, and no sidecar restarts.
func runOutages(ctx context.Context, s *settings, r *report) error {
	p := plan{Seed: s.seed, Tasks: 300, Chunks: 200, Concurrency: 24, FaultRate: 0.1, Limit: 5 * time.Minute}
	times := 6
	if s.short {
		p.Tasks, p.Chunks, p.Concurrency, times = 40, 100, 12, 3
	}
	f, stop, err := s.fleet(ctx, fleetOptions{grace: 10 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	c := &campaign{plan: &p, fleet: f, counts: newCounts(), progress: s.progress}
	c.extraFaults = map[int][]func(context.Context) error{}
	for i := range times {
		n := p.Tasks * (i + 1) / (times + 1)
		c.extraFaults[n] = append(c.extraFaults[n], func(ctx context.Context) error {
			switch i % 3 {
			case 0:
				return f.pauseRedis(ctx, 3*time.Second)
			case 1:
				return f.killRedis(ctx, time.Second)
			default:
				return f.cutRedisConnections(ctx, 2*time.Second)
			}
		})
	}
	err = c.run(ctx)
	r.Tally, r.Failed = c.counts.snapshot(), c.failed
	if err != nil {
		return err
	}
	ended := r.Tally.Ends["completed"]
	r.addFinding("outages of the store", true, "any number", fmt.Sprint(times))
	r.addFinding("the slowest task took", r.Tally.Slowest < outageTimeout, "less than "+outageTimeout.String(), r.Tally.Slowest.Round(100*time.Millisecond).String())
	r.addFinding("tasks that completed", ended == r.Tally.Tasks, fmt.Sprint(r.Tally.Tasks), fmt.Sprint(ended))
	return nil
}

// outageTimeout is longer than the time for which a turn may wait for its store. If a task takes longer, one of its
// readers received no end and waited until its timeout.
const outageTimeout = 45 * time.Second
