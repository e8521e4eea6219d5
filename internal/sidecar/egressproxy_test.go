// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/test/connectproxy"
)

// publicServers is one server of all public https servers of a sidecar: a model, MCP tools, the issuer of tokens, and webhooks.
type publicServers struct {
	proxy    *connectproxy.Proxy
	bundle   string
	webhooks atomic.Int32
	// hang is true while the model sends the begin of an answer and no end.
	hang    atomic.Bool
	hanging chan struct{}
}

func newPublicServers(t *testing.T) *publicServers {
	t.Helper()
	s := &publicServers{hanging: make(chan struct{}, 1)}
	tools := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	tools.AddTool(&mcp.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	toolServer := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil)
	model := newCompletionServer()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch host, _, _ := strings.Cut(r.Host, ":"); host {
		case "models.agents.example":
			if r.Method == http.MethodPost && s.hang.Load() {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n")
				_ = http.NewResponseController(w).Flush()
				s.hanging <- struct{}{}
				<-r.Context().Done()
				return
			}
			model(w, r)
		case "tools.agents.example":
			toolServer.ServeHTTP(w, r)
		case "hooks.agents.example":
			s.webhooks.Add(1)
		case "issuer.agents.example":
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/keys" {
				_, _ = io.WriteString(w, `{"keys":[]}`)
				return
			}
			_, _ = io.WriteString(w, `{"issuer":"https://issuer.agents.example","jwks_uri":"https://issuer.agents.example/keys"}`)
		default:
			http.NotFound(w, r)
		}
	})
	authority := newAuthority(t, "test")
	certificate, key := authority.issue(func(c *x509.Certificate) { c.DNSNames = []string{"*.agents.example"} })
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	s.bundle = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(s.bundle, authority.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s.proxy = connectproxy.New(t, "127.0.0.1:0", server.Listener.Addr().String(), false)
	return s
}

// TestEgressProxy runs a whole sidecar whose only way to its model, tools, issuer and webhooks is a proxy.
func TestEgressProxy(t *testing.T) {
	s := newPublicServers(t)
	o := standaloneOptions(t, respondHi)
	o.HealthListen = "127.0.0.1:0"
	o.BackendURL = "https://models.agents.example/v1"
	o.BackendProtocol = "ChatCompletions"
	o.MCPServers = []string{"https://tools.agents.example/mcp"}
	o.JWTIssuer = "https://issuer.agents.example"
	o.JWTAudiences = []string{"a2a"}
	o.AllowedPushTargets = []string{"*.agents.example"}
	o.TrustBundle = s.bundle
	o.EgressProxy = s.proxy.URL
	o.EgressProxyCredentials = t.TempDir()
	refuse := func(client net.Conn) bool {
		_, _ = io.WriteString(client, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
		_ = client.Close()
		return false
	}
	s.proxy.Answer(refuse)
	sidecar := standaloneWith(t, o)
	ready := "http://" + sidecar.Addresses().Health + "/readyz"
	readiness := func() string {
		response, err := http.Get(ready)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s did not happen; readiness: %s; requests to the proxy: %v", what, readiness(), s.proxy.Requests())
			}
		}
	}
	await("the cause in the probe", func() bool {
		return strings.Contains(readiness(), "the proxy refuses the credential, or requires one (status 407); see spec.egress.proxy")
	})
	for name, text := range map[string]string{"username": "agents", "password": "secret"} {
		if err := os.WriteFile(filepath.Join(o.EgressProxyCredentials, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.proxy.Answer(nil)
	await("readiness", func() bool { return strings.HasPrefix(readiness(), "ok") })

	send := func(id string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":%q,"parts":[{"kind":"text","text":"Hello"}]},`+
			`"configuration":{"pushNotificationConfig":{"url":"https://hooks.agents.example/hook"}}}}`, id)
		response, err := http.Post("http://"+sidecar.Addresses().Agent+"/", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
	if text := send("1"); !strings.Contains(text, `"state":"completed"`) {
		t.Errorf("turn through the proxy: %s", text)
	}
	await("the webhook", func() bool { return s.webhooks.Load() > 0 })
	var targets []string
	for _, r := range s.proxy.Requests() {
		targets = append(targets, r.Target)
	}
	for _, host := range []string{"models", "tools", "issuer", "hooks"} {
		if !slices.Contains(targets, "CONNECT "+host+".agents.example:443") {
			t.Errorf("the proxy got no connection to the server %s: %v", host, targets)
		}
	}

	// The proxy dies whenever the model answers. The sidecar begins such a turn again before it fails.
	s.hang.Store(true)
	go func() {
		for {
			select {
			case <-s.hanging:
				s.proxy.Cut()
			case <-t.Context().Done():
				return
			}
		}
	}()
	if text := send("2"); !strings.Contains(text, "the connection through the proxy fails") {
		t.Errorf("turn while the proxy dies: %s", text)
	}
}
