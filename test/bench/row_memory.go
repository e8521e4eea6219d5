// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

// held is a script with one chunk, after which the agent waits.
var held = script.Script{Gated: true}

// idleStreams measures S5: the memory of an idle stream.
func idleStreams(ctx context.Context, b *bench) ([]report.Result, error) {
	const turns, followers = 4000, 4000
	streams := func(k kind) load.Contender {
		return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				s, err = b.grown(ctx, r, turns, func() []byte { return r.request("SendStreamingMessage", held) })
				return err
			})
			return s, err
		}}
	}
	subscribers := func(k kind) load.Contender {
		return load.Contender{Name: string(k) + ", subscribers", Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				task, leave, err := r.begin(ctx, held)
				if err != nil {
					return err
				}
				defer leave()
				s, err = b.grown(ctx, r, followers, func() []byte { return subscribe(task) })
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, streams(ours), streams(proxy), streams(sdk), subscribers(ours), subscribers(sdk))
	if err != nil {
		return nil, err
	}
	stream := report.Result{What: fmt.Sprintf("an idle stream, of %d", turns), Unit: "KB"}
	results := against(s, stream, ours, map[kind]report.Goal{proxy: report.FigureAtMost(40, "KB"), sdk: {}})
	follower := report.Result{What: fmt.Sprintf("a subscriber, of %d", followers), Unit: "KB", Peer: string(sdk)}
	return append(results, report.Compare(follower, s.Of("sidecar, subscribers", 0), s.Of(string(sdk)+", subscribers", 0), report.FigureAtMost(20, "KB"))), nil
}

// grown returns the memory in KB of each of a number of streams after its first event.
func (b *bench) grown(ctx context.Context, r *running, count int, body func() []byte) (load.Sample, error) {
	if err := r.send(ctx, message, []byte(said)); err != nil {
		return nil, err
	}
	time.Sleep(b.settle)
	before, err := r.server.RSS()
	if err != nil {
		return nil, err
	}
	leave, err := r.follow(ctx, count, body, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = leave() }()
	time.Sleep(b.settle)
	after, err := r.server.RSS()
	return load.Sample{float64(after-before) / 1000 / float64(count)}, err
}

// idle measures S8: an idle server.
func idle(ctx context.Context, b *bench) ([]report.Result, error) {
	measured := func(k kind) load.Contender {
		return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				ready, err := answers(ctx, r)
				if err != nil {
					return err
				}
				time.Sleep(b.settle)
				memory, err := r.server.RSS()
				s = load.Sample{float64(memory) / 1e6, float64(ready) / float64(time.Millisecond)}
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, measured(ours), measured(proxy))
	if err != nil {
		return nil, err
	}
	memory := report.Result{What: "memory, idle", Unit: "MB", Peer: string(proxy)}
	start := report.Result{What: "start to first answer", Unit: "ms", Peer: string(proxy), Clock: true}
	return []report.Result{
		report.Compare(memory, s.Of(string(ours), 0), s.Of(string(proxy), 0), report.FigureAtMost(15, "MB")),
		report.Compare(start, s.Of(string(ours), 1), s.Of(string(proxy), 1), report.FigureAtMost(50, "ms")),
	}, nil
}

// answers returns the time from the start of a server to its first response.
func answers(ctx context.Context, r *running) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+".well-known/agent-card.json", nil)
	if err != nil {
		return 0, err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return 0, err
	}
	return time.Since(r.server.Started), response.Body.Close()
}
