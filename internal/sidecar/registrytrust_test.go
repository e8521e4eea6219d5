// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// The authorities of the sidecar configuration verify the registry and no other server,
// and a reload replaces them.
func TestSidecarVerifiesTheRegistryByItsConfiguration(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	serve := func(a *authority, handler http.HandlerFunc) *httptest.Server {
		t.Helper()
		s := httptest.NewUnstartedServer(handler)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{a.client(withNames("localhost"))}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	agent := serve(first, func(http.ResponseWriter, *http.Request) { t.Error("the agent was called") })
	registry := serve(first, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, `{"namespace":"team","name":"a","url":"https://a.team.svc/"}`)
	})
	configure := func(authorities []byte) func(*sidecarconfig.Config) {
		return func(c *sidecarconfig.Config) {
			c.Gateway = &sidecarconfig.Gateway{
				RegistryURL: registry.URL, RegistryCA: string(authorities), AgentURL: agent.URL, TokenFile: token,
			}
		}
	}
	p := newPod(t, respondHi, configure(second.pem))
	gateway := "http://" + p.sidecar.Addresses().Gateway
	status := func(path string) int {
		t.Helper()
		response, _ := p.do(http.MethodGet, gateway+path, "")
		return response.StatusCode
	}
	if got := status("/registry/v1/agents/team/a"); got != http.StatusBadGateway && got != http.StatusServiceUnavailable {
		t.Errorf("a registry of another authority: status %d", got)
	}
	configure(append(second.pem, first.pem...))(p.config)
	p.mount(p.encode())
	p.eventually("the sidecar trusts the registry", func() bool { return status("/registry/v1/agents/team/a") == http.StatusOK })
	if got := status("/agents/team/a/tasks/1"); got != http.StatusServiceUnavailable {
		t.Errorf("an agent with a certificate of the registry's authority: status %d", got)
	}
	p.config.Gateway.RegistryCA = "garbage"
	p.mount(p.encode())
	p.eventually("the sidecar refuses garbage", func() bool {
		_, metrics := p.do(http.MethodGet, p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_reloads_total{result="refused",source="configuration"} 1`)
	})
	if got := status("/registry/v1/agents/team/a"); got != http.StatusOK {
		t.Errorf("after a configuration with garbage: status %d", got)
	}
}
