// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestForeignHostsAndOriginsAreRefused checks that every listener refuses requests that a web page could cause, by DNS
// rebinding to loopback or from its own origin.
func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	called := 0
	r := sidecartest.Start(t, func(w http.ResponseWriter, _ *http.Request) {
		called++
		_, _ = io.WriteString(w, "Hi")
	}, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Bases = []card.Base{card.NewBase("https://agents.example.test/")}
	})
	const own = "localhost"
	spellings := []struct{ host, origin string }{
		{"evil.example", ""},
		{"evil.example:8080", ""},
		{"localhost.evil.example", ""},
		{"127.0.0.1.evil.example", ""},
		{"127.0.0.1.nip.io:80", ""},
		{"localhost@evil.example", ""},
		{"10.0.0.7", ""},
		{"[fe80::1]", ""},
		{"0.0.0.0", ""},
		{"169.254.169.254", ""},
		{"LOCALHOST.EVIL.EXAMPLE", ""},
		{"xn--lcalhost-n4a", ""},
		{own, "https://evil.example"},
		{own, "http://evil.example:80"},
		{own, "null"},
		{own, "https://localhost.evil.example"},
		{own, "http://127.0.0.1.evil.example"},
		{own, "file://"},
		{own, "chrome-extension://abcdef"},
		{own, "http://evil.example, http://localhost"},
		// The sidecar accepts the host agents.example.test and the origin https://agents.example.test. A page at the
		// sidecar's port has another origin.
		{"agents.example.test:8080", "http://agents.example.test:8080"},
		{"agents.example.test.evil.example", ""},
		{"x.agents.example.test", ""},
		{"agents.example.test", "https://evil.example"},
	}
	attempts := 0
	for listener, target := range map[string]struct{ address, path string }{
		"agent": {r.URL, "/"}, "card": {r.URL, "/.well-known/agent-card.json"}, "REST": {r.URL, "/tasks"},
		"health": {r.Health, "/metrics"}, "gateway": {r.Gateway, "/registry/v1/agents"},
	} {
		address := strings.TrimPrefix(target.address, "http://")
		for _, s := range spellings {
			if listener == "card" && s.origin != "" && !strings.Contains(s.host, ":8080") {
				continue // every page may read the public card
			}
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				attempts++
				head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n", method, target.path, s.host)
				if s.origin != "" {
					head += "Origin: " + s.origin + "\r\nAccess-Control-Request-Method: POST\r\n"
				}
				response := exchange(t, address, head+"\r\n{}")
				ok := response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusMisdirectedRequest ||
					// The listener rejected the host as malformed.
					response.StatusCode == http.StatusBadRequest && strings.Contains(s.host, "@")
				if !ok || response.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s, %s, Host %q, Origin %q: %s", listener, method, s.host, s.origin, response.Status)
				}
			}
		}
	}
	if called != 0 {
		t.Errorf("the agent was called %d times", called)
	}
	t.Logf("T-HOST: %d spellings at 3 listeners, %d requests refused", len(spellings), attempts)
}

// exchange writes a raw request, because an HTTP client would correct it.
func exchange(t *testing.T, address, text string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, text)
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%v after %q", err, text)
	}
	_ = response.Body.Close()
	return response
}
