// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// statusAt returns the status of a sidecar's responses to a request for the card and to a
// message, which must be equal. host is the Host of the requests, as a reverse proxy on
// this machine sends them.
func statusAt(t *testing.T, s *Sidecar, host string) int {
	t.Helper()
	var status int
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, wellknown.Path, nil), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(withNewMessageID(hello))),
	} {
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.agentHandler.ServeHTTP(w, r)
		if status != 0 && w.Code != status {
			t.Errorf("%s at Host %q is answered with %d, and the card with %d", r.Method, host, w.Code, status)
		}
		status = w.Code
	}
	return status
}

// TestHostOfABaseURL calls a sidecar at a loopback address like a proxy that passes on
// the Host of its clients.
func TestHostOfABaseURL(t *testing.T) {
	o := standaloneOptions(t, respondHi)
	o.BaseURLs = []string{"https://agents.example.test/echo", "https://b.example.test:8443"}
	byFlag := standaloneWith(t, o)
	o = standaloneOptions(t, respondHi)
	o.CardFile = filepath.Join(t.TempDir(), "card.yaml")
	if err := os.WriteFile(o.CardFile, []byte("{displayName: Echo, description: d, version: 1, interfaces: ["+
		"{url: 'https://c.example.test/x', binding: JSONRPC, protocolVersion: '1.0'}, {url: 'grpc.example.test:443', binding: GRPC, protocolVersion: '1.0'}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	byCard := standaloneWith(t, o)
	for name, test := range map[string]struct {
		s    *Sidecar
		host string
		want int
	}{
		"base":                     {byFlag, "agents.example.test", http.StatusOK},
		"base with its port":       {byFlag, "agents.example.test:443", http.StatusOK},
		"base in capitals":         {byFlag, "Agents.Example.Test.", http.StatusOK},
		"second base":              {byFlag, "b.example.test:8443", http.StatusOK},
		"port left out by a proxy": {byFlag, "b.example.test", http.StatusOK},
		"loopback":                 {byFlag, "localhost:8080", http.StatusOK},
		// DNS rebinding can make the name of the base an address of loopback. The Host of
		// such a page has the port of the sidecar.
		"port of the sidecar": {byFlag, "agents.example.test:8080", http.StatusForbidden},
		"another name":        {byFlag, "evil.example.test", http.StatusForbidden},
		"name below the base": {byFlag, "x.agents.example.test", http.StatusForbidden},
		"none":                {byFlag, "", http.StatusForbidden},
		"interface":           {byCard, "c.example.test", http.StatusOK},
		"interface of gRPC":   {byCard, "grpc.example.test:443", http.StatusOK},
		"base of another":     {byCard, "agents.example.test", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			if got := statusAt(t, test.s, test.host); got != test.want {
				t.Errorf("Host %q gives %d, want %d", test.host, got, test.want)
			}
		})
	}
}

// TestHostOfAReloadedBase checks that the hosts of the configuration in use are accepted.
func TestHostOfAReloadedBase(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access = sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}}
		c.Bases = []card.Base{card.NewBase("https://a.example.test/")}
	})
	if a, b := statusAt(t, p.sidecar, "a.example.test"), statusAt(t, p.sidecar, "b.example.test"); a != http.StatusOK || b != http.StatusForbidden {
		t.Errorf("before the reload: a %d, b %d", a, b)
	}
	p.config.Bases = []card.Base{card.NewBase("https://b.example.test/")}
	p.mount(p.encode())
	p.sidecar.reloader.Reload(p.sidecar.configuration)
	if a, b := statusAt(t, p.sidecar, "a.example.test"), statusAt(t, p.sidecar, "b.example.test"); a != http.StatusForbidden || b != http.StatusOK {
		t.Errorf("after the reload: a %d, b %d", a, b)
	}
}

// A page of evil.example whose name was rebound to loopback cannot call the agent.
func TestLoopbackSidecarRejectsOtherHostNames(t *testing.T) {
	called := false
	p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
		called = true
		respondHi(w, r)
	}, func(c *sidecarconfig.Config) {
		c.Access = sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}}
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
