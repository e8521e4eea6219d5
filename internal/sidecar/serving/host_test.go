// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

func TestHostNamesOfAnEndpoint(t *testing.T) {
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
		h := checkHost(&net.TCPAddr{IP: net.ParseIP(tt.at), Port: 8080}, nil, nil, jsonrpc.Deny)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = tt.host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%q at %s = %d, want %d", tt.host, tt.at, w.Code, tt.want)
		}
	}
}

// TestPagesReachAnonymousAgentsAtTheirNamesOnly checks that a web page whose name was rebound to the address of an agent
// does not reach the agent if it admits callers without a credential.
func TestPagesReachAnonymousAgentsAtTheirNamesOnly(t *testing.T) {
	anonymous := &sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationKubernetes}, {Type: sidecarconfig.AuthenticationAnonymous}}}
	authenticated := &sidecarconfig.Access{Authentication: anonymous.Authentication[:1]}
	shared := &sidecarconfig.Access{Authentication: anonymous.Authentication, CORS: &sidecarconfig.CORS{AllowedOrigins: []string{"https://app.example"}}}
	hosts := ConfiguredHosts(&sidecarconfig.Config{Bases: []card.Base{
		card.NewBase("https://agents.example.com:8443/echo/"), card.NewBase("http://echo.team.svc.cluster.local/"), card.NewBase("http://echo.team.svc/"),
		card.NewBase("http://echo.team/"), card.NewBase("http://echo/"),
	}})
	own := []string{
		"echo", "echo.team", "echo.team.svc", "ECHO.team.svc.cluster.local.", "echo.team.svc.cluster.local:8080", "agents.example.com", "agents.example.com:8443",
		"localhost:8080", "127.0.0.1:31000", "10.0.0.7:8080", "10.0.0.7", "[fd00::7]:8080", "[fd00::7]",
	}
	foreign := []string{
		"evil.example", "evil.example:8080", "EVIL.example.", "10.0.0.7.evil.example", "echo.team.evil.example", "x.echo.team.svc", "localhost.evil.example", "",
		"0x0a000007", "evil.example:80:80", "[evil.example]:80", "[echo]x", "evil@10.0.0.7",
	}
	for name, test := range map[string]struct {
		access      *sidecarconfig.Access
		method      string
		name, value string
		secure      bool
		hosts       []string
		want        int
	}{
		"POST of a page at a foreign name":      {anonymous, "POST", "Origin", "http://evil.example", false, foreign, 403},
		"GET of a page at a foreign name":       {anonymous, "GET", "Accept-Language", "en", false, foreign, 403},
		"GET with an empty language":            {anonymous, "GET", "Accept-Language", "", false, foreign, 403},
		"fetch of a page at a foreign name":     {anonymous, "GET", "Sec-Fetch-Site", "same-origin", false, foreign, 403},
		"page at a name of the agent":           {anonymous, "POST", "Origin", "http://echo.team", false, own, 200},
		"GET of a page at a name of the agent":  {anonymous, "GET", "Accept-Language", "en", false, own, 200},
		"program at a foreign name":             {anonymous, "POST", "User-Agent", "python-httpx/0.28", false, foreign, 200},
		"page of an origin that is allowed":     {shared, "POST", "Origin", "https://app.example", false, foreign, 200},
		"page of another origin":                {shared, "POST", "Origin", "http://evil.example", false, foreign, 403},
		"page at an agent that authenticates":   {authenticated, "POST", "Origin", "http://evil.example", false, foreign, 200},
		"page over TLS, which rebinding breaks": {anonymous, "POST", "Origin", "https://evil.example", true, foreign, 200},
	} {
		t.Run(name, func(t *testing.T) {
			check := checkHost(&net.TCPAddr{IP: net.IPv4zero, Port: 8080}, func() map[string]bool { return hosts }, func() *sidecarconfig.Access { return test.access }, jsonrpc.Deny)
			h := check(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for _, host := range test.hosts {
				r := httptest.NewRequestWithContext(t.Context(), test.method, "/", http.NoBody)
				r.Host = host
				r.Header.Set(test.name, test.value)
				if test.secure {
					r.TLS = &tls.ConnectionState{}
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != test.want {
					t.Errorf("Host %q gives %d, want %d", host, w.Code, test.want)
				}
				if text := w.Body.String(); w.Code != 200 && !strings.Contains(text, "spec.access.cors.allowedOrigins") {
					t.Errorf("Host %q: the error names no setting: %s", host, text)
				}
			}
		})
	}
}
