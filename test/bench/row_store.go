// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// many is the number of connections with which a sidecar is always busy, although each connection waits for the store.
const many = 128

// The figures of one measurement of a store.
const (
	perSecond = iota
	ofSidecar
	ofRedis
)

// stores measures S10: the throughput with tasks in memory, and with tasks that are written to Redis before the client
// receives the response.
func stores(ctx context.Context, b *bench) ([]report.Result, error) {
	var results []report.Result
	for _, work := range []struct {
		what, unit string
		op         func(*running) load.Operation
	}{
		{"sends that make a task of 2 chunks", "task", sends(script.Script{Chunks: 2, Size: 20}, "TASK_STATE_COMPLETED")},
		{"turns of 500 streamed chunks", "chunk", streams(500)},
	} {
		s, err := b.interleave(ctx, b.rate(ours, work.op), b.rate(oursAlways, work.op), b.rate(oursSecond, work.op))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", work.what, err)
		}
		for _, k := range []kind{oursAlways, oursSecond} {
			name := work.what + string(k)[len(ours):]
			goal := report.Goal{}
			if k == oursAlways {
				goal = report.RatioAtLeast(1.0/3, "1/3 x")
			}
			done := report.Result{What: name, Unit: work.unit + "s a second", Peer: "sidecar, memory", Clock: true}
			cost := report.Result{What: "CPU time of the sidecar in the same run", Unit: "us CPU a " + work.unit, Peer: "sidecar, memory"}
			rest := report.Result{What: "CPU time of Redis in the same run", Unit: "us CPU a " + work.unit}
			results = append(results,
				report.Compare(done, s.Of(string(k), perSecond), s.Of(string(ours), perSecond), goal),
				report.Compare(cost, s.Of(string(k), ofSidecar), s.Of(string(ours), ofSidecar), report.Goal{}),
				report.Compare(rest, s.Of(string(k), ofRedis), nil, report.Goal{}))
		}
	}
	return results, nil
}

// rate returns a contender that measures throughput and its cost.
func (b *bench) rate(k kind, op func(*running) load.Operation) load.Contender {
	return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
		err = b.servers.with(ctx, b.row, k, func(r *running) error {
			if _, err := load.Closed(ctx, many, b.window/4, op(r)); err != nil {
				return fmt.Errorf("warm up: %w", err)
			}
			var units int
			var used, usedByRedis time.Duration
			measured := func() (err error) {
				units, err = load.Closed(ctx, many, b.window, op(r))
				return err
			}
			if r.redis != nil {
				inner := measured
				measured = func() (err error) {
					usedByRedis, err = costs(r.redis, inner)
					return err
				}
			}
			begin := time.Now()
			used, err := costs(r.server, measured)
			each := float64(max(units, 1))
			s = load.Sample{float64(units) / time.Since(begin).Seconds(), load.Micros(used) / each, load.Micros(usedByRedis) / each}
			return err
		})
		return s, err
	}}
}

// redis starts a Redis server for a kind of sidecar that stores its tasks there. It returns nil for other kinds.
func (s *servers) redis(ctx context.Context, k kind) (*process.Process, error) {
	settings := redistest.Durable
	switch k {
	case oursAlways:
	case oursSecond:
		settings = []string{"--appendonly", "yes", "--appendfsync", "everysec"}
	default:
		return nil, nil // this kind has no store
	}
	program, err := redistest.Program()
	if err != nil {
		return nil, err
	}
	address, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(s.dir, "redis")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return process.Run(ctx, address, program, append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", data, "--save", "", "--logfile", filepath.Join(data, "log"),
	}, settings...)...)
}
