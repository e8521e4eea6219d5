// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// post sends a JSON body to the A2A endpoint, and returns the status and the answer.
func (s *sidecar) post(ctx context.Context, body string, header ...string) (status int, answer string) {
	return s.postBy(ctx, http.DefaultClient, body, header...)
}

// postBy does the same as post, by a client.
func (s *sidecar) postBy(ctx context.Context, by *http.Client, body string, header ...string) (status int, answer string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.agent.url("/"), strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	request.Host = request.Header.Get("Host") // "" is the host of the URL
	response, err := by.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 32<<20))
	return response.StatusCode, string(text)
}

// crowd runs a function on n goroutines until ctx ends, and returns a summary of the results.
func crowd(ctx context.Context, n, perSecond int, do func(ctx context.Context) string) string {
	pace := newPace(ctx, perSecond)
	var mu sync.Mutex
	results := map[string]int{}
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for pace.wait() {
				result := do(ctx)
				if ctx.Err() == nil {
					mu.Lock()
					results[result]++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return strings.Trim(fmt.Sprint(results), "map[]")
}

// TestRequestsOfOneCallerFromManyAddresses sends messages of one caller, whose turns do not end, over more connections than the sidecar
// has memory for. Other callers must still be served.
func TestRequestsOfOneCallerFromManyAddresses(t *testing.T) {
	s := startSidecar(t, func(w http.ResponseWriter, r *http.Request) {
		if text, _ := io.ReadAll(r.Body); strings.Contains(string(text), "wait") {
			<-r.Context().Done()
			return
		}
		echo(w, r)
	}, nil)
	clients := clientsFrom(8)
	bearer := "Bearer " + s.token(t, "attacker")
	var next atomic.Int64
	s.subject(t, "sidecar").withstands(t, "requests of one caller from 8 addresses, which do not end", lasts, func(ctx context.Context) string {
		return crowd(ctx, 400, 400, func(ctx context.Context) string {
			return status(s.postBy(ctx, clients[int(next.Add(1))%len(clients)], fmt.Sprintf(message, "", "wait"), "Authorization", bearer))
		})
	})
}

// clientsFrom returns HTTP clients with an address each.
func clientsFrom(n int) []*http.Client {
	clients := make([]*http.Client, n)
	for i := range clients {
		dialer := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(manyAddresses(i), 0))}
		clients[i] = &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	}
	return clients
}

func status(status int, _ string) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprint(status)
}

// TestLargeMessages sends more bytes at a time than the sidecar has memory.
func TestLargeMessages(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil)
	body := fmt.Sprintf(message, "ID", strings.Repeat("x", 5<<20))
	s.subject(t, "sidecar").withstands(t, "12 messages of 5 MiB at a time", lasts, func(ctx context.Context) string {
		return crowd(ctx, 12, 1000, func(ctx context.Context) string {
			status, _ := s.post(ctx, strings.Replace(body, "ID", rand.Text(), 1))
			return fmt.Sprint(status)
		})
	})
}

// TestFullRedis lets one caller of one agent fill a Redis that agents share.
func TestFullRedis(t *testing.T) {
	besideOthers(t)
	redis := redistest.Start(t, "--maxmemory", "64mb", "--maxmemory-policy", "noeviction")
	start := func(name string) *sidecar {
		return startSidecar(t, echo, func(c *sidecarconfig.Config) {
			c.Agent.Name = name
			c.Tasks.MaxBytes = 20 << 20 // half as much again for what is not a task, of two agents
		}, "--store", "redis://"+redis.Address(), "--store-name", "team/"+name)
	}
	mine, other := start("mine"), start("other")
	other.agent.post(fmt.Sprintf(message, "", "Hello"))
	other.agent.good[0].bearer = func() string { return other.token(t, "client") }
	mine.agent.good = append(mine.agent.good, other.agent.good...)
	subject := mine.subject(t, "sidecar, Redis")
	text := strings.Repeat("x", 1<<20)
	token := mine.token(t, "hostile")
	subject.withstands(t, "one caller fills Redis with messages of 1 MiB", 2*lasts, func(ctx context.Context) string {
		return crowd(ctx, 2, 100, func(ctx context.Context) string {
			status, _ := mine.post(ctx, fmt.Sprintf(message, rand.Text(), text), "Authorization", "Bearer "+token)
			return fmt.Sprint(status)
		})
	})
}

// TestStalledBodies declares bodies for which there is memory once, and sends nothing, from two addresses without a pause. A caller with large
// messages must still be served.
func TestStalledBodies(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil)
	s.agent.post(fmt.Sprintf(message, "", strings.Repeat("x", 200<<10)), "Authorization", "Bearer "+s.token(t, "client"))
	subject := s.subject(t, "sidecar")
	subject.quiet = max(subject.quiet, 200*time.Millisecond) // a request waits until a body is overdue
	subject.withstands(t, "bodies of 5.2 MiB that do not arrive, from 2 addresses", 3*lasts, func(ctx context.Context) string {
		var next atomic.Int64
		return crowd(ctx, 2, 20, func(ctx context.Context) string {
			dialer := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(manyAddresses(int(next.Add(1)%2)), 0))}
			c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", s.agent.Port))
			if err != nil {
				return "no connection"
			}
			defer func() { _ = c.Close() }()
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			_, _ = fmt.Fprintf(c, "%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", s.agent.head(http.MethodPost), 5<<20+200<<10)
			status, _ := bufio.NewReader(c).ReadString('\n')
			return strings.TrimSpace(status)
		})
	})
}
