// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// TestRequestsArriveWhole: in whatever way they are sent.
func TestRequestsArriveWhole(t *testing.T) {
	w := newWorld(t, &Policy{Local: true, CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, r.Method, " ", r.Host, r.URL, " ", r.ContentLength, " ", len(body), " ", r.Header["X-Token"], err)
	})
	for name, test := range map[string]struct {
		method string
		body   io.Reader
		want   string
	}{
		"none":           {http.MethodPost, http.NoBody, "POST 127.0.0.1:8080/hook?a=b 0 0 [s] <nil>"},
		"nil":            {http.MethodGet, nil, "GET 127.0.0.1:8080/hook?a=b 0 0 [s] <nil>"},
		"head":           {http.MethodHead, nil, ""},
		"short":          {http.MethodPost, strings.NewReader("text"), "POST 127.0.0.1:8080/hook?a=b 4 4 [s] <nil>"},
		"just short":     {http.MethodPost, strings.NewReader(strings.Repeat("x", maxDirect)), "POST 127.0.0.1:8080/hook?a=b 16384 16384 [s] <nil>"},
		"long":           {http.MethodPost, strings.NewReader(strings.Repeat("x", 1<<20)), "POST 127.0.0.1:8080/hook?a=b 1048576 1048576 [s] <nil>"},
		"unknown length": {http.MethodPost, io.MultiReader(strings.NewReader("text")), "POST 127.0.0.1:8080/hook?a=b -1 4 [s] <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, "http://127.0.0.1:8080/hook?a=b", test.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Token", "s")
			response, err := w.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			got, err := io.ReadAll(response.Body)
			if string(got) != test.want || err != nil || response.Request == nil {
				t.Errorf("the server saw %q, %v, want %q", got, err, test.want)
			}
		})
	}
	if n := w.connections.Load(); n > 2 {
		t.Errorf("%d connections, want one of each kind", n)
	}
}

// TestABodyThatCannotBeRead is not sent in part.
func TestABodyThatCannotBeRead(t *testing.T) {
	w := newWorld(t, &Policy{Local: true, CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8080/", io.MultiReader(strings.NewReader("te")))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 4
	if response, err := w.RoundTrip(r); err == nil {
		_ = response.Body.Close()
		t.Errorf("RoundTrip() = %s, want an error", response.Status)
	}
	if n := w.connections.Load(); n != 0 {
		t.Errorf("%d connections, want none", n)
	}
}
