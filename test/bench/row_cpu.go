// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

// sends returns an operation that sends a message and checks the response.
func sends(s script.Script, want string) func(*running) load.Operation {
	return func(r *running) load.Operation {
		return func(ctx context.Context) (int, error) { return 1, r.send(ctx, s, []byte(want)) }
	}
}

var message = script.Script{Message: true, Size: 600}

const said = "xxxxxxxxxxxxxxxx"

// unaryMessage measures S1: a message that the agent answers with a message.
func unaryMessage(ctx context.Context, b *bench) ([]report.Result, error) {
	op := sends(message, said)
	s, err := b.interleave(ctx, b.cpu(oursTokens, op), b.cpu(proxy, op), b.cpu(sdkAlone, op), b.cpu(sdk, op))
	if err != nil {
		return nil, err
	}
	r := report.Result{What: "unary message of 1 KB, tokens and validation on", Unit: "us CPU"}
	return against(s, r, oursTokens, map[kind]report.Goal{proxy: report.RatioAtMost(1.2), sdkAlone: report.RatioAtMost(0.7), sdk: {}}), nil
}

// against returns a result for each peer with an entry in goals, in the order of the kinds.
func against(s load.Series, r report.Result, us kind, goals map[kind]report.Goal) []report.Result {
	var results []report.Result
	for _, peer := range []kind{proxy, fanout, sdkAlone, sdk} {
		g, asked := goals[peer]
		if !asked {
			continue
		}
		r.Peer = string(peer)
		results = append(results, report.Compare(r, s.Of(string(us), 0), s.Of(string(peer), 0), g))
	}
	return results
}

// unaryTask measures S2: a message that creates a task.
func unaryTask(ctx context.Context, b *bench) ([]report.Result, error) {
	op := sends(script.Script{Chunks: 2, Size: 20}, "TASK_STATE_COMPLETED")
	s, err := b.interleave(ctx, b.cpu(ours, op), b.cpu(proxy, op), b.cpu(sdkAlone, op), b.cpu(sdk, op))
	if err != nil {
		return nil, err
	}
	r := report.Result{What: "send that makes a task of 2 chunks", Unit: "us CPU"}
	return against(s, r, ours, map[kind]report.Goal{proxy: report.RatioAtMost(2), sdkAlone: {}, sdk: report.RatioAtMost(0.05)}), nil
}

// streams returns an operation that streams a turn of a number of chunks and counts them. On a busy machine, the stream
// may begin with a snapshot that already contains some chunks.
func streams(chunks int) func(*running) load.Operation {
	const size = 20
	return func(r *running) load.Operation {
		return func(ctx context.Context) (int, error) {
			told := 0
			var last []byte
			n, err := r.stream(ctx, r.request("SendStreamingMessage", script.Script{Chunks: chunks, Size: size}), func(event []byte) {
				told += inSnapshot(event, size)
				last = append(last[:0], event[:min(len(event), 1000)]...)
			})
			n += told
			if err == nil && n != chunks {
				err = fmt.Errorf("%d of %d chunks, the last event is %s", n, chunks, last)
			}
			return n, err
		}
	}
}

// turns measures S2b: short and long turns.
func turns(ctx context.Context, b *bench) ([]report.Result, error) {
	const least, most = 20, 1000
	var results []report.Result
	figures := map[int][]float64{}
	for _, chunks := range []int{least, 500, most} {
		op := streams(chunks)
		s, err := b.interleave(ctx, b.cpu(ours, op), b.cpu(proxy, op), b.cpu(sdk, op))
		if err != nil {
			return nil, fmt.Errorf("%d chunks: %w", chunks, err)
		}
		r := report.Result{What: fmt.Sprintf("a turn of %d streamed chunks", chunks), Unit: "us CPU a chunk"}
		results = append(results, against(s, r, ours, map[kind]report.Goal{proxy: report.RatioAtMost(4), sdk: report.RatioAtMost(0.01)})...)
		figures[chunks] = s.Of(string(ours), 0)
	}
	flat := report.Result{What: fmt.Sprintf("a chunk of a turn of %d against one of %d", most, least), Unit: "us CPU a chunk", Peer: "sidecar, 20 chunks"}
	return append(results, report.Compare(flat, figures[most], figures[least], report.RatioAtMost(1))), nil
}

// latency measures S3: the time that a server adds to a response, under little load.
func latency(ctx context.Context, b *bench) ([]report.Result, error) {
	op := sends(message, said)
	rate, err := b.saturation(ctx, op)
	if err != nil {
		return nil, err
	}
	rate *= 0.2
	timed := func(k kind) load.Contender {
		return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				if _, err := load.Steady(ctx, b.window/4, rate, op(r)); err != nil {
					return err
				}
				// Measure for a longer time, because the added latency is the small difference of two figures.
				took, err := load.Steady(ctx, 3*b.window, rate, op(r))
				s = load.Sample{load.Percentile(took, 50), load.Percentile(took, 99)}
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, timed(ours), timed(proxy), timed(direct))
	if err != nil {
		return nil, err
	}
	var results []report.Result
	for figure, name := range []string{"p50", "p99"} {
		added := func(k kind) []float64 {
			values := s.Of(string(k), figure)
			for i, base := range s.Of(string(direct), figure) {
				values[i] -= base
			}
			return values
		}
		r := report.Result{What: fmt.Sprintf("added latency, %s, %.0f requests a second", name, rate), Unit: "us", Peer: string(proxy), Clock: true}
		results = append(results, report.Compare(r, added(ours), added(proxy), report.RatioAtMost([]float64{1.15, 1.25}[figure])))
	}
	return results, nil
}

// saturation returns the largest number of operations per second of a sidecar.
func (b *bench) saturation(ctx context.Context, op func(*running) load.Operation) (perSecond float64, err error) {
	err = b.servers.with(ctx, b.row, ours, func(r *running) error {
		if _, err := load.Closed(ctx, load.Connections, b.window/4, op(r)); err != nil {
			return err
		}
		begin := time.Now()
		units, err := load.Closed(ctx, load.Connections, b.window, op(r))
		perSecond = float64(units) / time.Since(begin).Seconds()
		return err
	})
	return perSecond, err
}

// paced measures S4: events that the agent sends one by one.
func paced(ctx context.Context, b *bench) ([]report.Result, error) {
	const count, every = 100, 10 * time.Millisecond
	play := script.Script{Chunks: int(b.window / every), Size: 200, Every: every}
	measured := func(k kind) load.Contender {
		return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				first := make([]time.Duration, count)
				used, err := costs(r.server, func() error {
					// Start the streams at intervals, so that the start of one stream does not delay the first chunk of another.
					begin := time.Now()
					var group errgroup.Group
					for i := range count {
						load.SleepUntil(begin.Add(time.Duration(i) * b.window / (2 * count)))
						group.Go(func() error { return r.readPaced(ctx, play, &first[i]) })
					}
					return group.Wait()
				})
				s = load.Sample{load.Micros(used) / float64(count*play.Chunks), load.Percentile(first, 50)}
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, measured(ours), measured(proxy))
	if err != nil {
		return nil, err
	}
	cost := report.Result{What: "relayed event, 100 streams with 100 events a second", Unit: "us CPU", Peer: string(proxy)}
	delay := report.Result{What: "first event of these streams, p50", Unit: "us", Peer: string(proxy), Clock: true}
	return []report.Result{
		report.Compare(cost, s.Of(string(ours), 0), s.Of(string(proxy), 0), report.RatioAtMost(1.5)),
		report.Compare(delay, s.Of(string(ours), 1), s.Of(string(proxy), 1), report.RatioAtMost(1.1)),
	}, nil
}

// readPaced reads one stream, and measures the delay of its first chunk.
func (c *client) readPaced(ctx context.Context, play script.Script, first *time.Duration) error {
	begin := time.Now()
	n, err := c.stream(ctx, c.request("SendStreamingMessage", play), func(event []byte) {
		if _, isChunk := script.SaidAt(event); isChunk && *first == 0 {
			*first = time.Since(begin)
		}
	})
	if err == nil && n != play.Chunks {
		err = fmt.Errorf("%d of %d chunks", n, play.Chunks)
	}
	return err
}
