// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// outage takes the store away from sidecars that work: it hangs, it dies and
// comes back, and its connections break. Nothing is lost and no task fails; who comes meanwhile is told
// to come again; no sidecar is started anew.
func outage(ctx context.Context, s *settings, r *report) error {
	p := plan{Seed: s.seed, Tasks: 300, Chunks: 200, Abreast: 24, Mishaps: 0.1, Limit: 5 * time.Minute}
	times := 6
	if s.short {
		p.Tasks, p.Chunks, p.Abreast, times = 40, 100, 12, 3
	}
	f, stop, err := s.fleet(ctx, shape{grace: 10 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	c := &campaign{plan: &p, fleet: f, counts: newCounts(), progress: s.progress}
	c.more = map[int][]func(context.Context) error{}
	for i := range times {
		n := p.Tasks * (i + 1) / (times + 1)
		c.more[n] = append(c.more[n], func(ctx context.Context) error {
			switch i % 3 {
			case 0:
				return f.freeze(ctx, 3*time.Second)
			case 1:
				return f.lose(ctx, time.Second)
			default:
				return f.cut(ctx, 2*time.Second)
			}
		})
	}
	err = c.run(ctx)
	r.Tally, r.Refused = c.counts.now(), c.refused
	if err != nil {
		return err
	}
	ended := r.Tally.Ends["completed"]
	r.find("times that the store was away", true, "any number", fmt.Sprint(times))
	r.find("the slowest task took", r.Tally.Slowest < patienceOfOutages, "less than "+patienceOfOutages.String(), r.Tally.Slowest.Round(100*time.Millisecond).String())
	r.find("tasks that completed all the same", ended == r.Tally.Tasks, fmt.Sprint(r.Tally.Tasks), fmt.Sprint(ended))
	return nil
}

// patienceOfOutages is as long as a turn may wait for its store, and some more: a
// task that takes longer has forgotten somebody, who waits until it gives up.
const patienceOfOutages = 45 * time.Second
