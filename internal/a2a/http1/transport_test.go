// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
)

// newWrapped returns a wrapped transport, a server for it, and the number of connections
// that the server has accepted.
func newWrapped(t *testing.T, handler http.HandlerFunc) (transport http.RoundTripper, address string, connections *atomic.Int64) {
	t.Helper()
	connections = &atomic.Int64{}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	transport = http1.Wrap(&http.Transport{
		DialContext: (&net.Dialer{}).DialContext, MaxIdleConns: 4, IdleConnTimeout: time.Minute,
	})
	t.Cleanup((&http.Client{Transport: transport}).CloseIdleConnections)
	return transport, strings.TrimPrefix(server.URL, "http://"), connections
}

func TestWrappedTransportSendsRequestsWhole(t *testing.T) {
	transport, address, connections := newWrapped(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, r.Method, " ", r.URL, " ", r.ContentLength, " ", len(body), " ", r.Header["X-Token"], err)
	})
	for name, test := range map[string]struct {
		method string
		body   io.Reader
		want   string
	}{
		"no body":        {http.MethodPost, http.NoBody, "POST /hook?a=b 0 0 [s] <nil>"},
		"nil body":       {http.MethodGet, nil, "GET /hook?a=b 0 0 [s] <nil>"},
		"HEAD":           {http.MethodHead, nil, ""},
		"short body":     {http.MethodPost, strings.NewReader("text"), "POST /hook?a=b 4 4 [s] <nil>"},
		"16 KiB":         {http.MethodPost, strings.NewReader(strings.Repeat("x", 16<<10)), "POST /hook?a=b 16384 16384 [s] <nil>"},
		"1 MiB":          {http.MethodPost, strings.NewReader(strings.Repeat("x", 1<<20)), "POST /hook?a=b 1048576 1048576 [s] <nil>"},
		"unknown length": {http.MethodPost, io.MultiReader(strings.NewReader("text")), "POST /hook?a=b -1 4 [s] <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+address+"/hook?a=b", test.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Token", "s")
			response, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			got, err := io.ReadAll(response.Body)
			if string(got) != test.want || err != nil || response.Request != r {
				t.Errorf("the server received %q, %v, want %q", got, err, test.want)
			}
		})
	}
	if n := connections.Load(); n > 2 {
		t.Errorf("%d connections, want one of the client and one of net/http", n)
	}
}

// TestWrappedTransportKeepsHostAndTrailer checks that the wrapped transport sends the
// requests that a Client cannot express.
func TestWrappedTransportKeepsHostAndTrailer(t *testing.T) {
	transport, address, _ := newWrapped(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, r.Host, " ", r.Trailer.Get("X-Sum"), " ", r.Close)
	})
	for want, change := range map[string]func(r *http.Request){
		"agent.example  false": func(r *http.Request) { r.Host = "agent.example" },
		address + " 7 false":   func(r *http.Request) { r.Trailer = http.Header{"X-Sum": {"7"}}; r.ContentLength = -1 },
		address + "  true":     func(r *http.Request) { r.Close = true },
		address + "  false":    func(r *http.Request) { r.Host = "" },
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(got) != want || err != nil {
			t.Errorf("the server received %q, %v, want %q", got, err, want)
		}
	}
}

func TestUnreadableBodyIsNotSent(t *testing.T) {
	transport, address, connections := newWrapped(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, io.MultiReader(strings.NewReader("te")))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 4
	if response, err := transport.RoundTrip(r); err == nil {
		_ = response.Body.Close()
		t.Errorf("RoundTrip() = %s, want an error", response.Status)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections, want none", n)
	}
}
