// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// manager is a process of the operator, configured as in a cluster.
type manager struct {
	*process.Process
	metrics string
}

// run starts the manager as a user, and waits until its caches have synced.
func (p *plane) run(ctx context.Context, user string, arguments ...string) (*manager, error) {
	probes, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	started, err := process.Run(ctx, probes, p.program, slices.Concat([]string{
		"--kubeconfig", p.kubeconfig(user), "--sidecar-image", "example/sidecar:1", "--registry-bind-address", "0",
		"--health-probe-bind-address", probes, "--metrics-bind-address", metrics, "--metrics-insecure", "--log-level", "error",
	}, arguments)...)
	if err != nil {
		return nil, err
	}
	m := &manager{Process: started, metrics: "http://" + metrics + "/metrics"}
	err = await(ctx, pollEvery, func(time.Time) (bool, error) {
		response, err := get(ctx, "http://"+probes+"/readyz")
		if err != nil {
			return false, err
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		m.Stop()
		return nil, fmt.Errorf("wait for the manager's caches: %w", err)
	}
	return m, nil
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return scraper.Do(request)
}

// work is the work of the manager for Agents and skills.
type work struct {
	// reconciles is the number of reconciles so far.
	reconciles int
	// pending is the number of reconciles that run or wait.
	pending int
}

var scraper = &http.Client{Timeout: 5 * time.Second}

func (m *manager) work(ctx context.Context) (work, error) {
	response, err := get(ctx, m.metrics)
	if err != nil {
		return work{}, fmt.Errorf("read metrics: %w", err)
	}
	defer response.Body.Close()
	var w work
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		figure, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name, _, _ := strings.Cut(name, "{"); name {
		case "controller_runtime_reconcile_total":
			w.reconciles += int(figure)
		case "workqueue_depth", "controller_runtime_active_workers":
			w.pending += int(figure)
		}
	}
	return w, lines.Err()
}

const (
	// pollEvery is the interval of checks for changes that cause no event.
	pollEvery = 20 * time.Millisecond
	// metricsEvery is the interval of reads of the metrics while CPU time is measured: each read costs the
	// manager some milliseconds.
	metricsEvery = 200 * time.Millisecond
	// quietFor is the time without any work after which the manager counts as idle.
	quietFor = 300 * time.Millisecond
)

// awaitIdle waits until the manager has been idle for quietFor and has done at least the given number of
// reconciles. It returns their number.
func (m *manager) awaitIdle(ctx context.Context, reconciles int) (int, error) {
	var last work
	var since time.Time
	err := await(ctx, pollEvery, func(now time.Time) (bool, error) {
		w, err := m.work(ctx)
		if err != nil {
			return false, err
		}
		if w != last || w.pending > 0 || w.reconciles < reconciles {
			last, since = w, now
		}
		return now.Sub(since) >= quietFor, nil
	})
	return last.reconciles, err
}

// awaitFullQueue waits until a manager without leadership has queued all Agents and uses no CPU time. A constant
// queue length is not enough: while the caches fill with the objects of Agents, every Agent is queued already.
func (m *manager) awaitFullQueue(ctx context.Context, agents int) error {
	const period, idle = time.Second, 50 * time.Millisecond
	var last time.Duration
	return await(ctx, period, func(time.Time) (bool, error) {
		used, err := m.CPU()
		if err != nil {
			return false, err
		}
		busy := used-last > idle
		last = used
		if busy {
			return false, nil
		}
		w, err := m.work(ctx)
		return w.pending >= agents, err
	})
}

// awaitReconciles waits for a number of reconciles, and until none is pending.
func (m *manager) awaitReconciles(ctx context.Context, reconciles int) error {
	return await(ctx, metricsEvery, func(time.Time) (bool, error) {
		w, err := m.work(ctx)
		return w.reconciles >= reconciles && w.pending == 0, err
	})
}

// await calls done repeatedly until it returns true.
func await(ctx context.Context, period time.Duration, done func(now time.Time) (bool, error)) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-ticker.C:
			if ok, err := done(now); ok || err != nil {
				return err
			}
		}
	}
}
