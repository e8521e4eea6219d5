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

// manager is a process of the operator, as it runs in a cluster.
type manager struct {
	*process.Process
	metrics string
}

// controlled are the kinds of which the manager's controllers begin to list the
// objects when they start. On a busy machine that is after its other caches are
// filled, and it says that it is ready.
var controlled = []string{"list agents", "list agentskills"}

// run starts the manager as a user, and waits until its caches are filled.
func (p *plane) run(ctx context.Context, user string, arguments ...string) (*manager, error) {
	probes, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	before, err := p.auditSize()
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
	err = await(ctx, glance, func(time.Time) (bool, error) {
		response, err := get(ctx, "http://"+probes+"/readyz")
		if err != nil {
			return false, err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || user != audited {
			return response.StatusCode == http.StatusOK, nil
		}
		asked, err := readAudit(p.auditLog(), before)
		// An error is of a line that is being written.
		return err == nil && !slices.ContainsFunc(controlled, func(list string) bool { return !slices.Contains(asked, list) }), nil
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

// work is what the manager has done and has to do, of Agents and of skills.
type work struct {
	// reconciles is how many were done.
	reconciles int
	// pending is how many are being done, or wait.
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
	// glance is how often something is looked at that tells nobody.
	glance = 20 * time.Millisecond
	// seldom is how often the manager is asked whose CPU time is measured: each
	// answer costs it some milliseconds.
	seldom = 200 * time.Millisecond
	// stillness is how long nothing may happen until it is taken to be over.
	stillness = 300 * time.Millisecond
)

// rest waits until the manager has had nothing to do for a while, and at least
// so many reconciles were done. It returns how many.
func (m *manager) rest(ctx context.Context, reconciles int) (int, error) {
	var last work
	var since time.Time
	err := await(ctx, glance, func(now time.Time) (bool, error) {
		w, err := m.work(ctx)
		if err != nil {
			return false, err
		}
		if w != last || w.pending > 0 || w.reconciles < reconciles {
			last, since = w, now
		}
		return now.Sub(since) >= stillness, nil
	})
	return last.reconciles, err
}

// idles waits until a manager that does not lead has all Agents in its queue, and
// has nothing more to do. That the queue stays as it is says little: while the
// cache is filled with what Agents own, each of them is in it already.
func (m *manager) idles(ctx context.Context, agents int) error {
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

// reaches waits until so many reconciles were done, and no more are to be done.
func (m *manager) reaches(ctx context.Context, reconciles int) error {
	return await(ctx, seldom, func(time.Time) (bool, error) {
		w, err := m.work(ctx)
		return w.reconciles >= reconciles && w.pending == 0, err
	})
}

// await looks again and again until something is done.
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
