// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

// A sidecar counts an idle stream with less memory after half a second (docs/reference/limits.md), and has memory
// for few headers at a time. Streams are therefore opened in groups of opened, with a pause after each group.
const (
	opened = 256
	pause  = 100 * time.Millisecond
)

// follow opens streams, and returns when each has received its first event. It calls each, if it is not nil, with every
// event of all streams. leave ends the streams and waits for their end.
func (c *client) follow(ctx context.Context, count int, body func() []byte, each func(event []byte)) (leave func() error, err error) {
	streaming, cancel := context.WithCancel(ctx)
	began := make(chan struct{}, count)
	group, failing := errgroup.WithContext(streaming)
	timeout := time.After(30 * time.Second)
	waiting := 0
	for i := range count {
		group.Go(func() error {
			first := sync.OnceFunc(func() { began <- struct{}{} })
			_, err := c.stream(failing, body(), func(event []byte) {
				first()
				if each != nil {
					each(event)
				}
			})
			if streaming.Err() != nil {
				return nil //nolint:nilerr // this side ended the stream
			}
			return err
		})
		waiting++
		isLast := i == count-1
		if waiting < opened && !isLast {
			continue
		}
		for ; waiting > 0; waiting-- {
			select {
			case <-began:
				continue
			case <-failing.Done():
				err = group.Wait()
			case <-timeout:
				err = fmt.Errorf("%d of %d streams have begun after 30 s", i+1-waiting, count)
			}
			cancel()
			return nil, errors.Join(err, group.Wait())
		}
		if !isLast {
			time.Sleep(pause)
		}
	}
	return func() error { cancel(); return group.Wait() }, nil
}

// begin starts a task and reads its stream until leave. It returns the id of the task.
func (r *running) begin(ctx context.Context, s script.Script) (task string, leave func(), err error) {
	ids := make(chan string, 1)
	end, err := r.follow(ctx, 1, func() []byte { return r.request("SendStreamingMessage", s) }, func(event []byte) {
		if id := taskOf(event); id != "" {
			select {
			case ids <- id:
			default:
			}
		}
	})
	if err != nil {
		return "", nil, err
	}
	select {
	case task = <-ids:
		return task, func() { _ = end() }, nil
	case <-time.After(5 * time.Second):
		return "", nil, errors.Join(errors.New("no event names a task"), end())
	}
}

// subscribers measures S6: one task with many subscribers.
func subscribers(ctx context.Context, b *bench) ([]report.Result, error) {
	var results []report.Result
	for _, readers := range []int{100, 1000, 5000} {
		s, err := b.interleave(ctx, b.fanout(ours, readers), b.fanout(fanout, readers))
		if err != nil {
			return nil, fmt.Errorf("%d subscribers: %w", readers, err)
		}
		r := report.Result{What: fmt.Sprintf("an event to each of %d subscribers of a task", readers), Unit: "us CPU a delivery"}
		results = append(results, against(s, r, ours, map[kind]report.Goal{fanout: report.RatioAtMost(1.2)})...)
	}
	return results, nil
}

// fanout returns a contender that measures deliveries. The rate is the same for every number of readers.
func (b *bench) fanout(k kind, readers int) load.Contender {
	const perSecond = 20_000
	every := time.Duration(readers) * time.Second / perSecond
	play := script.Script{Chunks: max(1, int(b.window/every)), Size: 200, Every: every, Gated: true}
	return load.Contender{Name: string(k), Measure: func(ctx context.Context) (s load.Sample, err error) {
		err = b.servers.with(ctx, b.row, k, func(r *running) error {
			body := func() []byte { return nil }
			if k == ours {
				task, leave, err := r.begin(ctx, play)
				if err != nil {
					return err
				}
				defer leave()
				body = func() []byte { return subscribe(task) }
			}
			s, err = b.deliveries(ctx, r, play, readers, body)
			return err
		})
		return s, err
	}}
}

// deliveries returns the CPU time of a chunk for each of its readers.
func (b *bench) deliveries(ctx context.Context, r *running, play script.Script, readers int, body func() []byte) (load.Sample, error) {
	total := readers * play.Chunks
	arrived := make(chan struct{}, total)
	leave, err := r.follow(ctx, readers, body, func(event []byte) {
		if _, isChunk := script.SaidAt(event); isChunk {
			arrived <- struct{}{}
		}
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = leave() }()
	used, err := costs(r.server, func() error {
		if err := r.open(ctx, []byte(play.String())); err != nil {
			return err
		}
		timeout := time.After(time.Duration(play.Chunks)*play.Every + b.stall)
		for i := range total {
			select {
			case <-arrived:
			case <-timeout:
				return fmt.Errorf("%d of %d deliveries", i, total)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return load.Sample{load.Micros(used) / float64(total)}, err
}

// stalledReader measures S7: one of two readers stops reading.
func stalledReader(ctx context.Context, b *bench) ([]report.Result, error) {
	play := script.Script{Chunks: 400, Size: 64 << 10, Every: 5 * time.Millisecond, Gated: true}
	const quiet = ", both read"
	measured := func(k kind, stalls bool) load.Contender {
		name := string(k)
		if !stalls {
			name += quiet
		}
		return load.Contender{Name: name, Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				s, err = b.healthy(ctx, r, play, stalls)
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, measured(ours, true), measured(ours, false), measured(sdk, true))
	if err != nil {
		return nil, err
	}
	all := report.FigureAtLeast(float64(play.Chunks), "400")
	got := report.Result{What: "events of 400 x 64 KB, while another reader stalls", Unit: "events", Peer: string(sdk)}
	delay := report.Result{What: "delay of these events, p99", Unit: "us", Peer: string(ours) + quiet, Clock: true}
	return []report.Result{
		report.Compare(got, s.Of(string(ours), 0), s.Of(string(sdk), 0), all),
		report.Compare(delay, s.Of(string(ours), 1), s.Of(string(ours)+quiet, 1), report.RatioAtMost(1.2)),
	}, nil
}

// healthy returns the number and the delay of the events that one of two readers receives.
func (b *bench) healthy(ctx context.Context, r *running, play script.Script, stalls bool) (load.Sample, error) {
	var mu sync.Mutex
	var late []time.Duration
	finished := make(chan struct{})
	ids := make(chan string, 1)
	leave, err := r.follow(ctx, 1, func() []byte { return r.request("SendStreamingMessage", play) }, func(event []byte) {
		select {
		case ids <- taskOf(event):
		default:
		}
		at, isChunk := script.SaidAt(event)
		if !isChunk {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if late = append(late, time.Since(at)); len(late) == play.Chunks {
			close(finished)
		}
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = leave() }()
	second := r.stall
	if !stalls {
		second = func(ctx context.Context, body []byte) (func(), error) {
			leave, err := r.follow(ctx, 1, func() []byte { return body }, nil)
			return func() { _ = leave() }, err
		}
	}
	leaveSecond, err := second(ctx, subscribe(<-ids))
	if err != nil {
		return nil, err
	}
	defer leaveSecond()
	if err := r.open(ctx, nil); err != nil {
		return nil, err
	}
	select {
	case <-finished:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(play.Chunks)*play.Every + b.stall):
	}
	mu.Lock()
	defer mu.Unlock()
	return load.Sample{float64(len(late)), load.Percentile(late, 99)}, nil
}

// stall opens a stream and reads only its beginning.
func (r *running) stall(ctx context.Context, body []byte) (leave func(), err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", r.server.Address)
	if err != nil {
		return nil, err
	}
	leave = func() { _ = conn.Close() }
	// Use a small buffer: a large one of the kernel would receive the stream although the reader does not read it.
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return leave, err
	}
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: %d\r\n\r\n%s",
		r.server.Address, len(body), body)
	if err != nil {
		return leave, err
	}
	status, err := bufio.NewReaderSize(conn, 512).ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("subscribe: %s", status)
	}
	return leave, err
}
