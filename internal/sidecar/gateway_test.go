// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
)

// registryOf starts a registry that lists some agents of the cluster, and returns
// its URL.
func registryOf(t *testing.T, agents ...string) string {
	t.Helper()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if exchangetest.Serve(w, r) {
			return
		}
		agent := strings.TrimPrefix(r.URL.Path, "/v1/agents/")
		namespace, name, _ := strings.Cut(agent, "/")
		if !slices.Contains(agents, agent) {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"namespace":%q,"name":%q,"url":"http://%s.%s.svc/"}`, namespace, name, name, namespace)
	}))
	t.Cleanup(registry.Close)
	return registry.URL
}

// TestGatewayReportsFailures calls agents that cannot be called, in each version and
// binding. The errors have the form of the request's protocol and contain the reason.
func TestGatewayReportsFailures(t *testing.T) {
	t.Parallel() // it waits most of the time
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	trusted, stranger := newAuthority(t, "trusted"), newAuthority(t, "stranger")
	trust := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(trust, trusted.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(a *authority, change func(*x509.Certificate)) string {
		t.Helper()
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the agent was called") }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{a.client(change)}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	refusing := "http://" + closedAddress(t)
	manyFields := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["A"] = make([]string, 130)
	}))
	t.Cleanup(manyFields.Close)
	expired := time.Now().Add(-time.Minute).Truncate(time.Second)
	failures := map[string]struct {
		agent, address, says, reason string
		http                         int
	}{
		"missing":     {"team/nobody", refusing, "Agent team/nobody is not in the registry", "PERMISSION_DENIED", 403},
		"authority":   {"team/a", serve(stranger, withNames("localhost")), "Agent team/a has a TLS certificate of an authority that is not trusted here; add that authority to spec.trustBundle", "UNAVAILABLE", 503},
		"expired":     {"team/a", serve(trusted, func(c *x509.Certificate) { c.NotAfter = expired }), "to " + expired.UTC().Format(time.RFC3339) + "; renew the Secret of its spec.access.tls", "UNAVAILABLE", 503},
		"name":        {"team/a", serve(trusted, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"other"}, nil }), "Agent team/a has a TLS certificate that is not for the name 127.0.0.1", "UNAVAILABLE", 503},
		"header":      {"team/a", manyFields.URL, "Agent team/a sent a response whose header has more than 16 KiB or 128 fields", "INVALID_AGENT_RESPONSE", 0}, // the status depends on the binding
		"connections": {"team/a", refusing, "Agent team/a refuses connections", "UNAVAILABLE", 503},
	}
	h2c := &http.Transport{Protocols: new(http.Protocols)}
	h2c.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(h2c.CloseIdleConnections)
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
				c.Gateway = &sidecarconfig.Gateway{RegistryURL: registryOf(t, "team/a"), AgentURL: failure.address, TokenFile: token}
			}, func(o *settings.Options) { o.TrustBundle = trust })
			base := "http://" + p.sidecar.Addresses().Gateway + "/agents/" + failure.agent
			for _, ask := range []struct {
				kind, method, path, body, header, value string
				status                                  int
				wants                                   []string
			}{
				{"JSON-RPC 0.3", "POST", "/", hello, "Content-Type", "application/json", failure.http, []string{`"jsonrpc":"2.0"`, `"error":{"code":`}},
				{"JSON-RPC 1.0", "POST", "/", hello, "A2A-Version", "1.0", failure.http, []string{`"jsonrpc":"2.0"`, `"error":{"code":`}},
				{"REST 1.0", "GET", "/tasks/1", "", "A2A-Version", "1.0", failure.http, []string{`"error":{"code":`, `"reason":"` + failure.reason + `"`}},
				{"REST 0.3", "GET", "/v1/tasks/1", "", "A2A-Version", "0.3", failure.http, []string{`"code":`}},
				{"card", "GET", "/.well-known/agent-card.json", "", "Accept", "application/json", failure.http, []string{`"error":{"code":`, `"reason":"` + failure.reason + `"`}},
			} {
				response, body := p.do(ask.method, base+ask.path, ask.body, ask.header, ask.value)
				for _, want := range append(ask.wants, failure.says) {
					if !strings.Contains(body, want) {
						t.Errorf("%s: answer lacks %s: %s", ask.kind, want, body)
					}
				}
				if ask.status != 0 && response.StatusCode != ask.status {
					t.Errorf("%s: status %d, want %d", ask.kind, response.StatusCode, ask.status)
				}
			}
			p.client = &http.Client{Transport: h2c}
			response, _ := p.do("POST", base+"/lf.a2a.v1.A2AService/GetTask", "", "Content-Type", "application/grpc")
			message, _ := url.PathUnescape(response.Trailer.Get("Grpc-Message"))
			if !strings.Contains(message, failure.says) || response.Trailer.Get("Grpc-Status") == "0" || response.StatusCode != http.StatusOK {
				t.Errorf("gRPC: %d %v", response.StatusCode, response.Trailer)
			}
		})
	}
}
