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

// plan holds the durations of a run.
type plan struct {
	rounds int
	// window is the duration of one measurement of CPU time.
	window time.Duration
	// settle is the pause before a measurement of memory, in which the memory becomes stable.
	settle time.Duration
	// stall is the time in addition to the duration of a script for which the benchmark waits for the events of a reader.
	// The events of a reader may never arrive if another reader stalls.
	stall time.Duration
}

var (
	long  = plan{rounds: 5, window: 3 * time.Second, settle: 3 * time.Second, stall: 20 * time.Second}
	short = plan{rounds: 3, window: 700 * time.Millisecond, settle: time.Second, stall: 6 * time.Second}
)

// row is a row of the table. run measures it.
type row struct {
	id  string
	run func(context.Context, *bench) ([]report.Result, error)
}

var rows = []row{
	{"S1", unaryMessage},
	{"S1g", gatewayCalls},
	{"S2", unaryTask},
	{"S2b", turns},
	{"S3", latency},
	{"S4", paced},
	{"S5", idleStreams},
	{"S6", subscribers},
	{"S7", stalledReader},
	{"S8", idle},
	{"S9", notifications},
	{"S10", stores},
	{"S11", traces},
	{"S12", steps},
	{"S13", paused},
}

// bench measures rows.
type bench struct {
	plan
	servers  *servers
	progress io.Writer
	// row is the id of the row that is measured now.
	row string
}

func (b *bench) interleave(ctx context.Context, contenders ...load.Contender) (load.Series, error) {
	return load.Interleave(ctx, b.rounds, contenders, func(now string) {
		_, _ = fmt.Fprintf(b.progress, "%s %s\n", b.row, now)
	})
}

// cpu returns a contender that measures the CPU time of a server in microseconds for each unit that its clients
// receive.
func (b *bench) cpu(k kind, op func(*running) load.Operation) load.Contender {
	return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
		err = b.servers.with(ctx, b.row, k, func(r *running) error {
			s, err = b.cpuOf(ctx, r, op(r))
			return err
		})
		return s, err
	}}
}

// cpuOf makes the measurement of cpu for a running server.
func (b *bench) cpuOf(ctx context.Context, r *running, op load.Operation) (load.Sample, error) {
	if _, err := load.Closed(ctx, load.Connections, b.window/4, op); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	var units int
	used, err := costs(r.server, func() (err error) {
		units, err = load.Closed(ctx, load.Connections, b.window, op)
		return err
	})
	return load.Sample{load.Micros(used) / float64(max(units, 1))}, err
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
