// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

const (
	rawFanout = "raw fan-out"
	// changesEach is the number of changes of a measurement, at changesPerSecond.
	changesEach, changesPerSecond = 100, 100
	// deliveryTimeout bounds the time of the deliveries after the last change.
	deliveryTimeout = 2 * time.Minute
	// opening is the number of watches that are opened at a time.
	opening = 64
)

// watches measures R3: the CPU time of the delivery of a change to a watch, compared with a server that has the frames ready.
func watches(ctx context.Context, b *bench) ([]report.Result, error) {
	c, err := b.clusterOf(b.many)
	if err != nil {
		return nil, err
	}
	all := load.Contender{Name: ours, Measure: func(ctx context.Context) (load.Sample, error) {
		return c.watched(ctx, "all", func(cursor string, _ int) string { return "/v1/agents?watch=true&since=" + url.QueryEscape(cursor) }, b.watchers)
	}}
	one := load.Contender{Name: "one namespace", Measure: func(ctx context.Context) (load.Sample, error) {
		return c.watched(ctx, "one-namespace", func(_ string, i int) string { return "/v1/agents?watch=true&namespace=" + namespaceName(i%namespaces) }, (b.watchers+namespaces-1)/namespaces)
	}}
	raw := load.Contender{Name: rawFanout, Measure: c.rawDeliveries}
	s, err := b.interleave(ctx, all, raw, one)
	if err != nil {
		return nil, err
	}
	r := report.Result{What: fmt.Sprintf("a change to each of %d watches of all agents", b.watchers), Unit: "us CPU a delivery", Peer: rawFanout}
	perChange := make([]float64, 0, b.rounds)
	for _, each := range s.Of(one.Name, 1) {
		perChange = append(perChange, each/changesEach)
	}
	return []report.Result{
		report.Compare(r, s.Of(ours, 0), s.Of(rawFanout, 0), report.RatioAtMost(1.25)),
		figure(fmt.Sprintf("a change with %d watches, each of one of %d namespaces", b.watchers, namespaces), "us CPU a change", perChange, report.Goal{}),
	}, nil
}

// watched opens the watches of a manager and changes agents. readers is the number of watches that each change reaches.
// watched returns the CPU time of one delivery, and the CPU time of all deliveries, in microseconds.
func (c *cluster) watched(ctx context.Context, subject string, path func(cursor string, watch int) string, readers int) (load.Sample, error) {
	m, err := c.manager(ctx, withRegistry)
	if err != nil {
		return nil, err
	}
	cursor, err := c.cursor(ctx, m)
	if err != nil {
		return nil, err
	}
	// Each watch of one namespace sees the changes of this namespace only. With fewer such watches than namespaces, some
	// changes reach no watch.
	expected := 0
	for i := range changesEach {
		if readers == c.b.watchers || i%namespaces < c.b.watchers {
			expected += readers
		}
	}
	return c.deliveries(ctx, m.Process, expected, func(ctx context.Context, i int) (io.ReadCloser, error) {
		return m.callers.open(ctx, path(cursor, i))
	}, func(i int) error {
		a := &c.agents[i]
		a.ready = !a.ready
		agent, _, err := a.objects()
		if err != nil {
			return err
		}
		return c.api.Put(agent)
	}, func() func() error { return c.b.profile(ctx, m, subject) })
}

// rawDeliveries measures the delivery of frames of the same agents by the program rawwatch.
func (c *cluster) rawDeliveries(ctx context.Context) (load.Sample, error) {
	m, err := c.manager(ctx, withRegistry)
	if err != nil {
		return nil, err
	}
	frames := make([]string, changesEach)
	for i := range frames {
		_, body, err := m.callers.read(ctx, "/v1/agents/"+c.agents[i].namespace()+"/"+c.agents[i].name())
		if err != nil {
			return nil, err
		}
		frames[i] = "event: upsert\ndata: " + strings.TrimSpace(string(body)) + "\n\n"
	}
	p, err := process.Start(ctx, c.b.program("rawwatch"))
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	target := newCallers("http://" + p.Address)
	return c.deliveries(ctx, p, changesEach*c.b.watchers, func(ctx context.Context, _ int) (io.ReadCloser, error) { return target.open(ctx, "/") }, func(i int) error {
		response, err := scraper.Post("http://"+p.Address+"/", "text/plain", strings.NewReader(frames[i]))
		if err != nil {
			return err
		}
		return response.Body.Close()
	}, func() func() error { return func() error { return nil } })
}

// cursor returns the id at which a watch of all agents resumes.
func (c *cluster) cursor(ctx context.Context, m *manager) (string, error) {
	// Change an Agent and a ConfigMap: a replica can resume watches only after it has seen a change of each kind.
	if err := errors.Join(c.change(false), c.change(true)); err != nil {
		return "", err
	}
	if err := pause(ctx, time.Second); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := m.callers.open(ctx, "/v1/agents?watch=true")
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	lines := bufio.NewReaderSize(body, 64<<10)
	id := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("read a watch: %w", err)
		}
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(value)
		}
		if line == "event: synced\n" {
			return id, nil
		}
	}
}

// openFunc opens a watch.
type openFunc func(ctx context.Context, watch int) (io.ReadCloser, error)

// openWatches opens all watches and returns when each has its first state. It calls count with the later changes. The
// watches end with ctx.
func (b *bench) openWatches(ctx context.Context, open openFunc, count func(int)) error {
	var group errgroup.Group
	group.SetLimit(opening)
	for i := range b.watchers {
		group.Go(func() error {
			body, err := open(ctx, i)
			if err != nil {
				return fmt.Errorf("open a watch: %w", err)
			}
			synced := make(chan struct{})
			go func() {
				defer func() { _ = body.Close() }()
				follow(body, synced, count)
			}()
			select {
			case <-synced:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	return group.Wait()
}

// deliveries opens watches, makes changes and waits for a number of deliveries. It returns the CPU time of one
// delivery, and the CPU time of all deliveries, in microseconds. profile starts a profile of the process, and stop
// saves it.
func (c *cluster) deliveries(ctx context.Context, p *process.Process, expected int, open openFunc, change func(i int) error, profile func() (stop func() error)) (load.Sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var arrived atomic.Int64
	done := make(chan struct{})
	count := func(n int) {
		if now := arrived.Add(int64(n)); now >= int64(expected) && now-int64(n) < int64(expected) {
			close(done)
		}
	}
	if err := c.b.openWatches(ctx, open, count); err != nil {
		return nil, err
	}
	if _, err := awaitIdleFor(ctx, p, settledIntervals); err != nil {
		return nil, err
	}
	stop := profile()
	used, err := costs(p, func() error {
		begin := time.Now()
		for i := range changesEach {
			load.SleepUntil(begin.Add(time.Duration(i) * time.Second / changesPerSecond))
			if err := change(i); err != nil {
				return err
			}
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(deliveryTimeout):
			return fmt.Errorf("%d of %d deliveries", arrived.Load(), expected)
		}
	})
	return load.Sample{load.Micros(used) / float64(expected), load.Micros(used)}, errors.Join(err, stop())
}

var (
	syncedEvent = []byte("event: synced\n")
	upsertEvent = []byte("event: upsert\n")
)

// follow reads a watch to its end. It closes synced after the first state, and counts the later upserts.
func follow(body io.Reader, synced chan<- struct{}, count func(int)) {
	buffer := make([]byte, 16<<10)
	kept, started := 0, false
	for {
		n, err := body.Read(buffer[kept:])
		text := buffer[:kept+n]
		if !started {
			if i := bytes.Index(text, syncedEvent); i >= 0 {
				started = true
				close(synced)
				text = text[i:]
			}
		}
		if started {
			if found := bytes.Count(text, upsertEvent); found > 0 {
				count(found)
			}
		}
		if err != nil {
			return
		}
		// An event may end in the next read.
		kept = copy(buffer, text[max(0, len(text)-len(upsertEvent)+1):])
	}
}
