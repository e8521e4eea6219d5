// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/contract"
	"github.com/a2a-operator/a2a-operator/test/rig"
)

// TestSlowClients: a thousand clients that never finish their headers, and a
// thousand that send a byte of their body a second, are gone in time, and
// another client notices nothing.
func TestSlowClients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const each = 1000
	const headers, bodies = 6 * time.Second, 30 * time.Second
	r := rig.Start(t, rig.Says, func(_ *rig.Rig, c *contract.Config) {
		// The good client is in a hurry.
		c.Limits.Requests, c.Limits.TotalRequests = contract.Rate{PerSecond: 100_000}, contract.Rate{PerSecond: 100_000}
	})
	address := strings.TrimPrefix(r.URL, "http://")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	alone := p99(t, client, r.URL)

	var reading sync.WaitGroup
	var mu sync.Mutex
	var late []string
	worst := map[string]time.Duration{}
	open := func(kind, text string, limit time.Duration) net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		began := time.Now()
		reading.Go(func() {
			_ = c.SetReadDeadline(began.Add(limit + 10*time.Second))
			_, _ = io.Copy(io.Discard, c)
			took := time.Since(began)
			_ = c.Close()
			mu.Lock()
			defer mu.Unlock()
			worst[kind] = max(worst[kind], took)
			if took > limit {
				late = append(late, fmt.Sprintf("%s after %v", kind, took))
			}
		})
		return c
	}
	var dripping []net.Conn
	for range each {
		open("headers", "POST / HTTP/1.1\r\nHost: localhost\r\nX-A: ", headers)
		dripping = append(dripping, open("bodies", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", bodies))
	}
	during := p99(t, client, r.URL)
	done := make(chan struct{})
	go func() { reading.Wait(); close(done) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-tick.C:
			for _, c := range dripping {
				_, _ = io.WriteString(c, " ")
			}
		}
	}
	if len(late) > 0 {
		slices.Sort(late)
		t.Errorf("%d connections were closed late, such as %s", len(late), late[len(late)-1])
	}
	// Below a few milliseconds the scheduler of a busy machine is what is measured.
	if during > max(2*alone, 10*time.Millisecond) {
		t.Errorf("p99 of a good client is %v, alone %v", during, alone)
	}
	t.Logf("T-SLOWLORIS: %d connections; headers closed within %v, bodies within %v; p99 of a good client %v, alone %v", 2*each,
		worst["headers"].Round(time.Millisecond), worst["bodies"].Round(time.Millisecond), during, alone)
}

// p99 is that of a client which reads the card: the best of three, since other
// things happen on the machine.
func p99(t *testing.T, client *http.Client, url string) time.Duration {
	t.Helper()
	best := time.Hour
	for range 3 {
		best = min(best, p99Once(t, client, url))
	}
	return best
}

func p99Once(t *testing.T, client *http.Client, url string) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 300 {
		began := time.Now()
		response, err := client.Get(url + "/.well-known/agent-card.json")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Fatal(response.Status)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
