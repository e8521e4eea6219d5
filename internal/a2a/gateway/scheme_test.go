// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
)

// tlsAgents is a fake transport to agents with or without TLS.
type tlsAgents struct {
	secure map[string]bool
	// listed is true if the registry lists the agents with https.
	listed bool
	seen   []string
}

func (o *tlsAgents) RoundTrip(r *http.Request) (*http.Response, error) {
	if w := httptest.NewRecorder(); exchangetest.Serve(w, r) {
		return w.Result(), nil
	}
	if r.Header.Get("A2A-Version") != "" {
		body := listed(strings.TrimPrefix(r.URL.Path, "/v1/agents/")) // the gateway looks up the agent
		if o.listed {
			body = strings.ReplaceAll(body, "http://", "https://")
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	line := r.Method + " " + r.URL.Scheme + "://" + r.URL.Host
	if r.Header.Get("Authorization") != "" {
		line += " with token"
	}
	o.seen = append(o.seen, line)
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("ok")), Request: r}
	switch secure := o.secure[r.URL.Host]; {
	case secure && r.URL.Scheme == "http":
		response.StatusCode = http.StatusUpgradeRequired
		response.Header.Set("Upgrade", "TLS/1.2")
	case !secure && r.URL.Scheme == "https":
		return nil, errors.New("tls: first record does not look like a TLS handshake")
	}
	return response, nil
}

// TestTokenIsNotSentInTheClearToAgentsWithTLS checks that no token is sent without TLS to
// an agent that the registry lists with https, or whose probe has found TLS. This also
// applies if the agent now accepts connections without TLS only.
func TestTokenIsNotSentInTheClearToAgentsWithTLS(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	const host, agent = "echo.team.svc", "/agents/team/echo/"
	agents, now := &tlsAgents{secure: map[string]bool{}}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := New(&Config{RegistryURL: "http://registry:8444", AgentURL: "http://{name}.{namespace}.svc", TokenFile: token, TokenURL: "http://registry:8444" + exchangetest.Path, Audience: "{name}.{namespace}"},
		Options{Transport: agents, ObserveExchange: func(error) {}, Deny: plain, Bodies: limit.NewBudget(64<<20, time.Second), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	for _, step := range []struct {
		name   string
		secure bool
		listed bool
		passes time.Duration
		path   string
		status int
		seen   []string
	}{
		{"the registry is not asked", false, false, 0, "/registry/x", 200, []string{"GET http://registry:8444 with token"}},
		{"without TLS", false, false, 0, agent, 200, []string{"HEAD http://" + host, "GET http://" + host + " with token"}},
		{"known", false, false, 0, agent, 200, []string{"GET http://" + host + " with token"}},
		{"asked again", false, false, schemeAge, agent, 200, []string{"HEAD http://" + host, "GET http://" + host + " with token"}},
		{"TLS that the listing does not show yet", true, false, time.Second, agent, 503, []string{"GET http://" + host + " with token"}},
		{"TLS found", true, false, 0, agent, 200, []string{"HEAD http://" + host, "GET https://" + host + " with token"}},
		{"TLS broken, with the listing of before", false, false, 0, agent, 502, []string{"GET https://" + host + " with token"}},
		{"TLS is not forgotten", false, false, 0, agent, 502, []string{"GET https://" + host + " with token"}},
		{"TLS listed", true, true, listedAge, agent, 200, []string{"GET https://" + host + " with token"}},
		{"listed TLS broken", false, true, schemeAgeTLS, agent, 502, []string{"GET https://" + host + " with token"}},
		{"listed TLS is not probed", false, true, 0, agent, 502, []string{"GET https://" + host + " with token"}},
		{"no TLS listed any more", false, false, listedAge, agent, 200, []string{"HEAD http://" + host, "GET http://" + host + " with token"}},
	} {
		agents.secure[host], agents.listed, agents.seen, now = step.secure, step.listed, nil, now.Add(step.passes)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+step.path, nil))
		if diff := cmp.Diff(step.seen, agents.seen); diff != "" || w.Code != step.status {
			t.Errorf("%s: status %d, requests (-want +got):\n%s", step.name, w.Code, diff)
		}
	}
}
