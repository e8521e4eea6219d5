// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// manager is a process of the operator. It is a standby: its caches are full and its controllers do nothing.
type manager struct {
	*process.Process
	// registry is the base URL of the registry, without a slash at its end.
	registry string
	metrics  string
	// readiness is the URL of the readiness probe.
	readiness string
	// profiles is the URL of CPU profiles, "" for a manager without them.
	profiles string
	callers  *callers
}

const (
	// pollEvery is the interval of checks for a state that causes no event.
	pollEvery = 50 * time.Millisecond
	// readyTimeout bounds the time until a manager is ready.
	readyTimeout = 5 * time.Minute
)

// startManager starts a manager, and waits until it is ready.
func (c *cluster) startManager(ctx context.Context, registry bool) (*manager, error) {
	m, err := c.launchManager(ctx, registry)
	if err != nil {
		return nil, err
	}
	if err := m.awaitReady(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// launchManager starts a manager. It may not be ready yet.
func (c *cluster) launchManager(ctx context.Context, registry bool) (*manager, error) {
	var addresses [4]string
	for i := range addresses {
		address, err := freeport.Find(ctx)
		if err != nil {
			return nil, err
		}
		addresses[i] = address
	}
	probes, metrics, api, profiles := addresses[0], addresses[1], addresses[2], addresses[3]
	m := &manager{
		registry: "http://" + api, metrics: "http://" + metrics + "/metrics", readiness: "http://" + probes + "/readyz",
		callers: newCallers("http://" + api),
	}
	if !registry {
		api = "0"
	}
	if c.b.profiles == "" {
		profiles = "0"
	} else {
		m.profiles = "http://" + profiles + "/debug/pprof/profile"
	}
	var err error
	m.Process, err = process.Run(ctx, probes, c.b.program("manager"),
		"--kubeconfig", c.kubeconfig(), "--sidecar-image", "example/sidecar:1", "--registry-bind-address", api,
		"--leader-elect", "--namespace", "default", "--health-probe-bind-address", probes,
		"--metrics-bind-address", metrics, "--metrics-insecure", "--pprof-bind-address", profiles, "--log-level", "error")
	return m, err
}

// awaitReady waits until the manager is ready. It stops a manager that does not become ready.
func (m *manager) awaitReady(ctx context.Context) error {
	err := m.pollReady(ctx)
	if err != nil {
		m.Stop()
		return fmt.Errorf("start the manager: %w; standard error: %s", err, m.Stderr())
	}
	return nil
}

func (m *manager) pollReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		response, err := get(ctx, m.readiness)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.Done():
			return errors.New("it ended")
		case <-time.After(pollEvery):
		}
	}
}

var scraper = &http.Client{Timeout: 30 * time.Second}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return scraper.Do(request)
}

// metric returns the value of a metric without labels.
func (m *manager) metric(ctx context.Context, name string) (float64, error) {
	response, err := get(ctx, m.metrics)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the manager has no metric %s", name)
}

// Metrics of the Go runtime.
const (
	collections = "go_gc_cycles_total_gc_cycles_total"
	liveHeap    = "go_gc_heap_live_bytes"
	// collectionTimeout is longer than the interval of collections of an idle process.
	collectionTimeout = 3 * time.Minute
)

// heapAfterCollection waits for the next garbage collection, and returns the bytes of the heap that it found in use.
func (m *manager) heapAfterCollection(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, collectionTimeout)
	defer cancel()
	before, err := m.metric(ctx, collections)
	if err != nil {
		return 0, err
	}
	for {
		now, err := m.metric(ctx, collections)
		if err != nil {
			return 0, err
		}
		if now > before {
			return m.metric(ctx, liveHeap)
		}
		if err := pause(ctx, idleEvery); err != nil {
			return 0, fmt.Errorf("wait for a garbage collection: %w", err)
		}
	}
}
