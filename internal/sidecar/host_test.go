// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/contract"
)

// A page of evil.example whose name was rebound to loopback calls no agent.
func TestAgentOnALaptopHasNoOtherNames(t *testing.T) {
	called := false
	p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
		called = true
		says(w, r)
	}, func(c *contract.Config) {
		c.Access = contract.Access{Authentication: []contract.Authentication{{Type: contract.AuthenticationAnonymous}}}
	})
	for _, path := range []string{"", "message:send", ".well-known/agent-card.json"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, p.agent()+path, nil)
		r.Host = "evil.example:8080"
		r.Header.Set("Origin", "http://evil.example:8080")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		p.sidecar.agentHandler.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || called {
			t.Errorf("/%s = %d, called %t", path, w.Code, called)
		}
	}
}

func TestNamesOfAnEndpoint(t *testing.T) {
	const everywhere, here, there = "0.0.0.0", "127.0.0.1", "::1"
	for _, tt := range []struct {
		at, host string
		want     int
	}{
		{here, "127.0.0.1:8080", 200},
		{here, "localhost", 200},
		{here, "[::1]:8080", 200},
		{here, "[::1]", 200},
		{there, "localhost:1", 200},
		{here, "evil.example", 403},
		{here, "127.0.0.1.evil.example", 403},
		{here, "localhost.evil.example:80", 403},
		{here, "", 403},
		{here, "10.0.0.1", 403},
		{there, "a.example", 403},
		{everywhere, "a.example", 200},
		{everywhere, "", 200},
		{"10.0.0.1", "a.example", 200},
	} {
		h := addressed(&net.TCPAddr{IP: net.ParseIP(tt.at), Port: 8080}, jsonrpc.Deny)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = tt.host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%q at %s = %d, want %d", tt.host, tt.at, w.Code, tt.want)
		}
	}
}
