// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

// bench measures rows.
type bench struct {
	plan
	// dir is for files of the processes.
	dir string
	// program returns the file of a program.
	program  func(name string) string
	progress io.Writer
	row      string
	// profiles is the directory for CPU profiles of managers, "" for none. profiled is the number of profiles so far.
	profiles string
	profiled int
	// clusters are the clusters that rows have used, by name.
	clusters map[string]*cluster
}

func (b *bench) logf(what string, arguments ...any) {
	_, _ = fmt.Fprintf(b.progress, b.row+" "+what+"\n", arguments...)
}

func (b *bench) interleave(ctx context.Context, contenders ...load.Contender) (load.Series, error) {
	return load.Interleave(ctx, b.rounds, contenders, func(now string) { b.logf("%s", now) })
}

func (b *bench) measure(ctx context.Context, chosen []row) (*report.Report, error) {
	b.clusters = map[string]*cluster{}
	defer b.close()
	ids := make([]string, len(chosen))
	for i := range chosen {
		ids[i] = chosen[i].id
	}
	r := &report.Report{Subject: "registry", Rounds: b.rounds, Window: b.window.String()}
	err := r.Measure(ctx, ids, func(i int) ([]report.Result, error) {
		b.row = ids[i]
		results, err := chosen[i].run(ctx, b)
		if err != nil {
			b.logf("%v", err)
		}
		return results, err
	})
	return r, err
}

// close stops all processes.
func (b *bench) close() {
	for name, c := range b.clusters {
		c.close()
		delete(b.clusters, name)
	}
}

// costs returns the CPU time of a process while f runs.
func costs(p *process.Process, f func() error) (time.Duration, error) {
	before, err := p.CPU()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := p.CPU()
	return after - before, err
}

const (
	// idleEvery is the interval of the checks whether a process is idle. idleUse is the CPU time that an idle process may use in
	// this interval.
	idleEvery = 500 * time.Millisecond
	idleUse   = 25 * time.Millisecond
	// idleTimeout bounds the time until a process is idle after its start.
	idleTimeout = 5 * time.Minute
)

// awaitIdle waits until a process is idle, and returns the CPU time that it has used until then.
func awaitIdle(ctx context.Context, p *process.Process) (time.Duration, error) {
	return awaitIdleFor(ctx, p, 1)
}

// settledIntervals is the number of idle intervals after which a manager has returned the memory of its earlier work to the system: it
// collects the whole heap when it has been idle for a second.
const settledIntervals = 6

// awaitIdleFor waits until a process has been idle for a number of intervals, and returns the CPU time that it has used until then.
func awaitIdleFor(ctx context.Context, p *process.Process, intervals int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	idle := 0
	for last := time.Duration(-1); ; {
		used, err := p.CPU()
		if err != nil {
			return 0, err
		}
		if last >= 0 && used-last < idleUse {
			idle++
		} else {
			idle = 0
		}
		if idle == intervals {
			return last, nil
		}
		last = used
		if err := pause(ctx, idleEvery); err != nil {
			return 0, fmt.Errorf("wait for an idle process: %w", err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// figure returns a result without a peer.
func figure(what, unit string, values []float64, g report.Goal) report.Result {
	return report.Compare(report.Result{What: what, Unit: unit}, values, nil, g)
}
