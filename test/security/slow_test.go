// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// slowness is a kind of slow client. Its limits are generous, so that a busy machine is no failure.
type slowness struct {
	name, begins string
	drips        bool
	least, most  time.Duration
}

var slownesses = []slowness{
	// The time-out is 5 s.
	{name: "headers", begins: "POST / HTTP/1.1\r\nHost: localhost\r\nX-A: ", least: 4 * time.Second, most: 12 * time.Second},
	// The time-out is 25 s.
	{
		name: "bodies", begins: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		drips: true, least: 20 * time.Second, most: 45 * time.Second,
	},
}

// TestSlowClientsAreDisconnected opens 300 connections with unfinished headers and 300 that send a byte of their
// body every second. The sidecar must disconnect them in time and not before, and serve another client
// meanwhile.
func TestSlowClientsAreDisconnected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const each, tries = 300, 5
	r := sidecartest.Start(t, sidecartest.TextAgent, func(f *sidecartest.Fixture, c *sidecarconfig.Config) {
		// A sidecar with less memory disconnects slow clients before their time is over.
		f.MemoryLimit = 4 << 30
		// The rate limits must not affect the normal client, which has a short timeout.
		c.Limits.Requests, c.Limits.TotalRequests = sidecarconfig.Rate{PerSecond: 100_000}, sidecarconfig.Rate{PerSecond: 100_000}
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	alone := p99(t, client, r.URL)

	var crowd *crowd
	var during time.Duration
	for try := 1; ; try++ {
		crowd = openCrowd(t, strings.TrimPrefix(r.URL, "http://"), each)
		before := crowd.closed.Load()
		during = p99(t, client, r.URL)
		after := crowd.closed.Load()
		if before == 0 && after == 0 {
			break
		}
		// The sidecar disconnected the first slow clients before the measurement of the normal client had ended, so repeat
		// it.
		crowd.leave()
		if try == tries {
			t.Fatalf("of %d slow clients %d were gone before the good one came, and %d when it had left, %d times", 2*each, before, after, tries)
		}
	}
	crowd.wait()
	for _, s := range slownesses {
		took := crowd.took[s.name]
		if len(took) != each {
			t.Errorf("%s: %d clients, want %d", s.name, len(took), each)
			continue
		}
		first, last := slices.Min(took), slices.Max(took)
		if first < s.least || last > s.most {
			t.Errorf("slow %s are cut off after %v to %v, want %v to %v", s.name, first, last, s.least, s.most)
		}
		t.Logf("T-SLOWLORIS: %d slow %s cut off after %v to %v", each, s.name, first.Round(time.Millisecond), last.Round(time.Millisecond))
	}
	t.Logf("T-SLOWLORIS: p99 of a good client among %d slow ones %v, alone %v", 2*each, during, alone)
}

// crowd holds the connections of the slow clients.
type crowd struct {
	conns, dripping []net.Conn
	clients         sync.WaitGroup
	dripped         sync.WaitGroup
	stopDripping    context.CancelFunc
	closed          atomic.Int32

	mu   sync.Mutex
	took map[string][]time.Duration
}

func openCrowd(t *testing.T, address string, each int) *crowd {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	c := &crowd{stopDripping: enough, took: map[string][]time.Duration{}}
	for range each {
		for i := range slownesses {
			c.open(t, address, &slownesses[i])
		}
	}
	c.dripped.Go(func() { c.drip(ctx) })
	return c
}

func (c *crowd) open(t *testing.T, address string, s *slowness) {
	t.Helper()
	began := time.Now() // the time-out of the server starts later
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, s.begins); err != nil {
		t.Fatal(err)
	}
	c.conns = append(c.conns, conn)
	if s.drips {
		c.dripping = append(c.dripping, conn)
	}
	c.clients.Go(func() {
		_ = conn.SetReadDeadline(began.Add(s.most + time.Second))
		_, _ = io.Copy(io.Discard, conn)
		took := time.Since(began)
		c.closed.Add(1)
		_ = conn.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.took[s.name] = append(c.took[s.name], took)
	})
}

// drip sends a byte of each body every second.
func (c *crowd) drip(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, conn := range c.dripping {
				_, _ = io.WriteString(conn, " ")
			}
		}
	}
}

// wait returns when the server has closed all connections.
func (c *crowd) wait() {
	c.clients.Wait()
	c.stopDripping()
	c.dripped.Wait()
}

// leave closes all connections.
func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.wait()
}

// p99 returns the 99th percentile of 300 requests for the card. Each request must succeed in time.
func p99(t *testing.T, client *http.Client, url string) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 300 {
		took = append(took, readCard(t, client, url))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

func readCard(t *testing.T, client *http.Client, url string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/.well-known/agent-card.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	return time.Since(began)
}
