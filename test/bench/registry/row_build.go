// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

const withoutPeer, bareList = "manager without the registry", "bare list and decode"

// heap measures R4: the heap of the registry, which is the heap of a manager minus the heap of a manager without the
// registry.
func heap(ctx context.Context, b *bench) ([]report.Result, error) {
	c, err := b.clusterOf(b.many)
	if err != nil {
		return nil, err
	}
	var with, without, difference []float64
	for range b.rounds {
		var heaps [2]float64
		for i, registry := range []bool{withRegistry, withoutRegistry} {
			c.stopManagers()
			m, err := c.manager(ctx, registry)
			if err != nil {
				return nil, err
			}
			bytes, err := m.heapAfterCollection(ctx)
			if err != nil {
				return nil, err
			}
			heaps[i] = bytes / 1e6
			b.logf("live heap %.0f MB", heaps[i])
		}
		with, without, difference = append(with, heaps[0]), append(without, heaps[1]), append(difference, heaps[0]-heaps[1])
	}
	whole := report.Result{What: fmt.Sprintf("live heap of the manager, %d agents", b.many), Unit: "MB", Peer: withoutPeer}
	return []report.Result{
		figure(fmt.Sprintf("live heap of the registry, %d agents", b.many), "MB", difference, report.FigureAtMost(200, "MB")),
		report.Compare(whole, with, without, report.Goal{}),
	}, nil
}

// updates measures R5: the CPU time of updates, with and without the registry, and the latency of searches during updates.
func updates(ctx context.Context, b *bench) ([]report.Result, error) {
	const perSecond, searchesPerSecond = 1000, 200
	c, err := b.clusterOf(b.many)
	if err != nil {
		return nil, err
	}
	with, err := c.manager(ctx, withRegistry)
	if err != nil {
		return nil, err
	}
	without, err := c.manager(ctx, withoutRegistry)
	if err != nil {
		return nil, err
	}
	op := with.callers.requests(1, pages[1].path)
	var share, bare, difference, quiet, busy []float64
	for round := range b.rounds {
		b.logf("round %d of %d", round+1, b.rounds)
		took, err := load.Steady(ctx, b.window, searchesPerSecond, op)
		if err != nil {
			return nil, err
		}
		quiet = append(quiet, load.Percentile(took, 99))
		var used [2]time.Duration
		begin := time.Now()
		used[0], err = costs(with.Process, func() (err error) {
			used[1], err = costs(without.Process, func() error { return c.changes(ctx, b.window, perSecond) })
			return err
		})
		if err != nil {
			return nil, err
		}
		percent := func(d time.Duration) float64 { return 100 * d.Seconds() / time.Since(begin).Seconds() }
		share, bare, difference = append(share, percent(used[0])), append(bare, percent(used[1])), append(difference, percent(used[0]-used[1]))
		group, both := errgroup.WithContext(ctx)
		group.Go(func() error { return c.changes(both, b.window, perSecond) })
		group.Go(func() (err error) {
			took, err = load.Steady(both, b.window, searchesPerSecond, op)
			return err
		})
		if err := group.Wait(); err != nil {
			return nil, err
		}
		busy = append(busy, load.Percentile(took, 99))
	}
	what := fmt.Sprintf("%d updates a second, of %d agents", perSecond, b.many)
	latency := report.Result{What: "latency of a search during these updates, p99", Unit: "us", Peer: "without updates", Clock: true}
	return []report.Result{
		figure(what+": the registry's part", "% of a core", difference, report.FigureAtMost(20, "% of a core")),
		report.Compare(report.Result{What: what + ": the manager", Unit: "% of a core", Peer: withoutPeer}, share, bare, report.Goal{}),
		report.Compare(latency, busy, quiet, report.RatioAtMost(1.3)),
	}, nil
}

// changes makes changes at a rate: nine of ten change the readiness of an Agent, and one changes its card.
func (c *cluster) changes(ctx context.Context, window time.Duration, perSecond float64) error {
	begin := time.Now()
	for i := range int(window.Seconds() * perSecond) {
		load.SleepUntil(begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second))))
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.change(i%10 == 0); err != nil {
			return err
		}
	}
	// Wait until the last changes have taken effect.
	return pause(ctx, 100*time.Millisecond)
}

// coldStarts measures R6: the CPU time of a start, until the manager is ready and idle.
func coldStarts(ctx context.Context, b *bench) ([]report.Result, error) {
	c, err := b.clusterOf(b.many)
	if err != nil {
		return nil, err
	}
	c.stopManagers()
	idle := func(ctx context.Context, p *process.Process) (load.Sample, error) {
		used, err := awaitIdle(ctx, p)
		return load.Sample{used.Seconds()}, err
	}
	manager := func(name, subject string, registry bool) load.Contender {
		return load.Contender{Name: name, Measure: func(ctx context.Context) (load.Sample, error) {
			m, err := c.launchManager(ctx, registry)
			if err != nil {
				return nil, err
			}
			defer m.Stop()
			stop := b.profile(ctx, m, subject)
			if err := m.awaitReady(ctx); err != nil {
				return nil, errors.Join(err, stop())
			}
			sample, err := idle(ctx, m.Process)
			return sample, errors.Join(err, stop())
		}}
	}
	bare := load.Contender{Name: bareList, Measure: func(ctx context.Context) (load.Sample, error) {
		p, err := process.Start(ctx, b.program("barelist"), "--kubeconfig", c.kubeconfig())
		if err != nil {
			return nil, err
		}
		defer p.Stop()
		return idle(ctx, p)
	}}
	s, err := b.interleave(ctx, manager(ours, "start", withRegistry), manager(withoutPeer, "start-without-registry", withoutRegistry), bare)
	if err != nil {
		return nil, err
	}
	with, without := s.Of(ours, 0), s.Of(withoutPeer, 0)
	difference := make([]float64, len(with))
	for i := range with {
		difference[i] = with[i] - without[i]
	}
	what := fmt.Sprintf("cold start with %d agents", b.many)
	part := report.Result{What: what + ": the registry's part", Unit: "s CPU", Peer: bareList}
	whole := report.Result{What: what + ": the manager", Unit: "s CPU", Peer: bareList}
	rest := report.Result{What: what + ": the manager", Unit: "s CPU", Peer: withoutPeer}
	return []report.Result{
		report.Compare(part, difference, s.Of(bareList, 0), report.RatioAtMost(1.5)),
		report.Compare(whole, with, s.Of(bareList, 0), report.Goal{}),
		report.Compare(rest, with, without, report.Goal{}),
	}, nil
}
