// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cutproxy_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/test/cutproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server starts a server that answers each byte with 100 bytes, and returns its address.
func server(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				one := make([]byte, 1)
				for {
					if _, err := io.ReadFull(c, one); err != nil {
						return
					}
					if _, err := io.WriteString(c, strings.Repeat("x", 100)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// received returns the number of bytes that arrive of an answer of 1000.
func received(t *testing.T, p *cutproxy.Proxy) int {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, strings.Repeat("?", 10))
	n, _ := io.ReadFull(c, make([]byte, 1000))
	return n
}

func TestConnectionsAreCutAsPlanned(t *testing.T) {
	o := cutproxy.Options{Seed: 7, Rate: 0.5, MaxBytes: 999}
	p := cutproxy.Start(t, server(t), o)
	cuts := 0
	for i := range 40 {
		plan := o.Plan(uint64(i + 1))
		n := received(t, p)
		switch {
		case plan.After < 0 && n != 1000:
			t.Errorf("connection %d: %d of 1000 bytes arrived without a cut", i+1, n)
		case plan.After >= 0 && (n > plan.After || n != plan.After && !plan.Reset):
			t.Errorf("connection %d: %d bytes arrived, want %+v", i+1, n, plan)
		}
		if plan.After >= 0 {
			cuts++
		}
	}
	if cuts < 10 || cuts > 30 || p.Cuts() != uint64(cuts) || p.Connections() != 40 {
		t.Errorf("%d planned cuts, %d cuts of %d connections", cuts, p.Cuts(), p.Connections())
	}
	p.Pause(true)
	for range 10 {
		if n := received(t, p); n != 1000 {
			t.Errorf("paused: %d bytes arrived", n)
		}
	}
}

func TestPlansAreRepeatable(t *testing.T) {
	a, b := cutproxy.Options{Seed: 1, Rate: 1, Requests: 0.5}, cutproxy.Options{Seed: 2, Rate: 1, Requests: 0.5}
	equal, requests, resets := 0, 0, 0
	for i := range uint64(100) {
		again := a
		if a.Plan(i) != again.Plan(i) {
			t.Fatalf("plan %d changes", i)
		}
		if a.Plan(i) == b.Plan(i) {
			equal++
		}
		if a.Plan(i).Request {
			requests++
		}
		if a.Plan(i).Reset {
			resets++
		}
	}
	if equal > 5 || requests < 30 || requests > 70 || resets < 30 || resets > 70 {
		t.Errorf("%d plans are equal for two seeds, %d are for requests, %d are resets", equal, requests, resets)
	}
}

func TestHTTPClientsDetectCuts(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	}))
	defer backend.Close()
	whole, broken := 0, 0
	p := cutproxy.Start(t, backend.Listener.Addr().String(), cutproxy.Options{Seed: 3, Rate: 0.5, MaxBytes: 150, Requests: 0.5})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 40 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL(), strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			broken++
			continue
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		switch {
		case err != nil:
			broken++
		case len(body) == 100:
			whole++
		default:
			t.Errorf("%d bytes and no error", len(body))
		}
	}
	if whole < 10 || broken < 10 {
		t.Errorf("%d answers were whole and %d were broken", whole, broken)
	}
}
