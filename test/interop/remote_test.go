// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

const (
	clusterToken = "the-token-of-the-sidecar"
	callersKey   = "the-key-of-the-caller"
)

// remoteAgent is an agent behind TLS at another origin. It records its requests.
type remoteAgent struct {
	server *httptest.Server

	mu   sync.Mutex
	seen bytes.Buffer
}

// newRemoteAgent starts a TLS server at another origin, which forwards requests to the agent at the URL at.
func newRemoteAgent(t *testing.T, at string) *remoteAgent {
	t.Helper()
	target, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1, Transport: transport,
	}
	e := &remoteAgent{}
	e.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		_, _ = fmt.Fprintf(&e.seen, "%s %s\n%v\n%s\n", r.Method, r.URL, r.Header, body)
		e.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		// Remove the credential, because the sidecar behind this server does not accept it.
		r.Header.Del("Authorization")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(e.server.Close)
	return e
}

// card returns the agent's card as the registry serves it.
func (e *remoteAgent) card(t *testing.T) []byte {
	t.Helper()
	var text []byte
	for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} {
		response, err := e.server.Client().Get(e.server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			break
		}
	}
	parsed, err := card.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Interfaces = slices.DeleteFunc(parsed.Interfaces, func(i card.Interface) bool { return i.Binding == card.GRPC })
	for i := range parsed.Interfaces {
		u, _ := url.Parse(parsed.Interfaces[i].URL)
		parsed.Interfaces[i].URL = e.server.URL + u.Path
	}
	out, err := card.Render(parsed, card.FormV10)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.seen.Reset()
	e.mu.Unlock()
	return out
}

// fakeRegistry is a registry with one agent, and a name service without any name.
type fakeRegistry struct {
	http.RoundTripper
	entry, card []byte
}

func (r fakeRegistry) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "registry" {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: req.URL.Host, IsNotFound: true}}
	}
	w := httptest.NewRecorder()
	switch {
	case req.Header.Get("Authorization") != "Bearer "+clusterToken:
		w.WriteHeader(http.StatusUnauthorized)
	case req.URL.Path == "/v1/agents/team/weather":
		_, _ = w.Write(r.entry)
	case req.URL.Path == "/v1/agents/team/weather/card":
		_, _ = w.Write(r.card)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

// gateway returns the agent's URL at a gateway that finds the agent only in the
// registry.
func (e *remoteAgent) gateway(t *testing.T) string {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(clusterToken), 0o600); err != nil {
		t.Fatal(err)
	}
	entry := fmt.Appendf(nil, `{"namespace":"team","name":"weather","url":%q,"remote":true,"cardDigest":"1"}`, e.server.URL)
	roots := x509.NewCertPool()
	roots.AddCert(e.server.Certificate())
	log := slog.New(slog.DiscardHandler)
	memory, err := memoryshare.Divide(memoryshare.Default)
	if err != nil {
		t.Fatal(err)
	}
	remotes := translator.New(translator.Options{
		Memory: &memory, Events: limit.NewBudget(memory.Events, time.Second),
		Policy: &egress.Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Local: true},
		Roots:  func() *x509.CertPool { return roots },
		Limits: &httpcall.Limits{
			MaxBody: func() int64 { return 10 << 20 }, Bodies: limit.NewBudget(80<<20, time.Second), Answers: limit.NewBudget(64<<20, time.Second),
			WriteTimeout: 10 * time.Second, Now: time.Now,
		},
		Working: func() {}, Log: log, Now: time.Now,
	})
	server := httptest.NewServer(gateway.New(
		&gateway.Config{RegistryURL: "http://registry", AgentURL: "http://{name}.{namespace}.svc", TokenFile: token},
		gateway.Options{Transport: fakeRegistry{entry: entry, card: e.card(t)}, ObserveExchange: func(error) {}, Remotes: remotes, Deny: translator.Deny, Bodies: limit.NewBudget(64<<20, time.Second), Log: log, Now: time.Now}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = remotes.Drain(ended) // aborts running calls
		remotes.Close()
	})
	return server.URL + "/agents/team/weather"
}

// checkNoSecrets fails the test if the agent received a credential or a header that was
// not intended for it.
func (e *remoteAgent) checkNoSecrets(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := e.seen.String()
	if !strings.Contains(seen, "Bearer "+callersKey) {
		t.Error("the agent did not receive the caller's key")
	}
	for _, secret := range []string{clusterToken, "A2a-Principal", "A2a-Task-Id", "A2a-Context-Id", "Traceparent", "Cookie", "X-Private", "remote:"} {
		if strings.Contains(seen, secret) {
			t.Errorf("the agent received %q", secret)
		}
	}
}

// checkDialect fails the test if the sidecar did not use the dialect of the agent's card.
func (e *remoteAgent) checkDialect(t *testing.T, name string) {
	t.Helper()
	says := map[string]string{
		"sidecar, 0.1 JSON-RPC":   `"method":"tasks/send`,
		"sidecar, 0.3 JSON-RPC":   `"method":"message/`,
		"a2a-go v0.3.15 JSON-RPC": `"method":"message/`,
		"sidecar, 0.3 HTTP+JSON":  "POST /v1/message:",
		"sidecar, 1.0 HTTP+JSON":  "POST /message:",
		"a2a-go v2.4.0 HTTP+JSON": "POST /message:",
		"a2a-go v2.4.0 JSON-RPC":  `"method":"SendStreamingMessage"`,
		"sidecar":                 `"method":"SendStreamingMessage"`,
	}[name]
	e.mu.Lock()
	defer e.mu.Unlock()
	if says == "" || !strings.Contains(e.seen.String(), says) {
		t.Errorf("the agent received no request with %q", says)
	}
}

// leakyTransport adds headers that the gateway must not send to the agent.
type leakyTransport struct{ http.RoundTripper }

func (c leakyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range map[string]string{
		"Cookie": "a=b", "X-Private": "x", "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		r.Header.Set(name, value)
	}
	return c.RoundTripper.RoundTrip(r)
}

func newLeakyClient(t *testing.T) *http.Client {
	t.Helper()
	client := sidecartest.Client(t, callersKey)
	client.Transport = leakyTransport{client.Transport}
	return client
}

// TestClientsReachRemoteAgents plays the scenario with clients and remote agents of
// every version, through the gateway.
func TestClientsReachRemoteAgents(t *testing.T) {
	for name, open := range upstreams {
		for _, c := range goClients {
			if c.binding == "gRPC" {
				continue
			}
			t.Run(name+" for "+c.name+" "+c.protocol+" "+c.binding, func(t *testing.T) {
				s := open(t)
				remote := newRemoteAgent(t, s.url)
				s.url = remote.gateway(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				client, err := c.open(ctx, target{client: newLeakyClient(t), url: s.url})
				if err != nil {
					t.Fatal(err)
				}
				s.playRelayed(ctx, t, client, nil)
				remote.checkNoSecrets(t)
				remote.checkDialect(t, name)
			})
		}
	}
}

// TestClientsOf01ReachRemoteAgents repeats TestClientsReachRemoteAgents with client01.
func TestClientsOf01ReachRemoteAgents(t *testing.T) {
	for name, open := range upstreams {
		t.Run(name, func(t *testing.T) {
			remote := newRemoteAgent(t, open(t).url)
			client := &client01{t: t, http: newLeakyClient(t), url: remote.gateway(t) + "/"}
			if got, code := client.call("tasks/send", say("t-1", "Hi", "")); code != 0 || got.ID != "t-1" || got.Status.State != "completed" {
				t.Errorf("tasks/send = %+v, error %d", got, code)
			}
			events := client.stream("tasks/sendSubscribe", say("t-2", "Hi", ""))
			if len(events) < 3 || events[len(events)-1] != "t-2 completed final true" {
				t.Errorf("tasks/sendSubscribe = %q", events)
			}
			remote.checkNoSecrets(t)
			remote.checkDialect(t, name)
		})
	}
}
