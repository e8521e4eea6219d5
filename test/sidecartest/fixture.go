// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecartest runs the whole sidecar in front of an agent, on real sockets. It
// is imported by tests only.
package sidecartest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

const (
	issuer   = "https://kubernetes.default.svc"
	audience = "echo.team.a2a-operator.dev"
)

// Fixture is a sidecar and its agent.
type Fixture struct {
	// URL is the base of the A2A endpoint, without a slash at its end.
	URL string
	// Health is that of the probes.
	Health string
	// Gateway is that of the agent's way out.
	Gateway string

	// apiKeys is the directory with a file for each caller; "" for none.
	apiKeys string
	// certificate is the directory with tls.crt and tls.key; "" serves in the clear.
	certificate string

	key    *ecdsa.PrivateKey
	calls  atomic.Int64
	called chan struct{}
}

// Start runs a sidecar that admits everybody, unless change says otherwise,
// until the test ends.
func Start(tb testing.TB, agent http.HandlerFunc, change ...func(*Fixture, *sidecarconfig.Config)) *Fixture {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	r := &Fixture{key: key, called: make(chan struct{})}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.calls.Add(1) == 1 {
			close(r.called)
		}
		agent(w, req)
	}))
	tb.Cleanup(backend.Close)
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "echo"},
		Card: card.Card{
			Name: "Interop", Description: "An agent for tests", Version: "1.0",
			// Clients of each binding go by the card.
			Bindings: card.Bindings,
			Skills:   []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: backend.URL},
		Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(10 * time.Second)},
	}
	for _, c := range change {
		c(r, config)
	}
	text, err := sidecarconfig.Encode(config)
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), sidecarconfig.FileName)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	s, err := sidecar.Open(tb.Context(), &sidecar.Options{
		ConfigFile: file, Listen: "127.0.0.1:0", HealthListen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0",
		APIKeys: r.apiKeys, TLS: r.certificate,
	}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Serve() error = %v", err)
		}
	})
	scheme := "http://"
	if r.certificate != "" {
		scheme = "https://"
	}
	r.URL, r.Health, r.Gateway = scheme+s.Addresses().Agent, "http://"+s.Addresses().Health, "http://"+s.Addresses().Gateway
	return r
}

// WithTokens makes a sidecar ask for tokens, as Token signs them.
func WithTokens(r *Fixture, c *sidecarconfig.Config) {
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: r.key.Public(), KeyID: "k"}}})
	if err != nil {
		panic(err)
	}
	c.Access = sidecarconfig.Access{
		Authentication: []sidecarconfig.Authentication{{
			Type: sidecarconfig.AuthenticationKubernetes,
			Kubernetes: &sidecarconfig.KubernetesAuthentication{
				Issuer: issuer, Audiences: []string{audience}, Keys: keys,
			},
		}},
		Namespaces: []string{"team"},
	}
}

// WithEverything offers what an agent may offer: to those who show a token an
// extended card, to all the rest, and push notifications to Webhook's host.
func WithEverything(r *Fixture, c *sidecarconfig.Config) {
	anonymous := c.Access.Authentication
	WithTokens(r, c)
	c.Access.Authentication = append(c.Access.Authentication, anonymous...)
	c.Card.Skills = append(c.Card.Skills, card.Skill{ID: "x", Name: "X", Description: "d", Tags: []string{"t"}, Extended: true})
	c.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{CIDR: "203.0.113.0/24"}}}
}

// WithTLS returns a change that serves the A2A endpoint with the certificate and
// the key of a directory, as tls.crt and tls.key.
func WithTLS(dir string) func(*Fixture, *sidecarconfig.Config) {
	return func(r *Fixture, _ *sidecarconfig.Config) { r.certificate = dir }
}

// APIKey is a key that WithAPIKey admits.
const APIKey = "key-of-a-client-0123456789abcdef"

// WithAPIKey returns a change that admits callers who show APIKey in the header
// X-API-Key, beside those whom the sidecar admits otherwise.
func WithAPIKey(tb testing.TB) func(*Fixture, *sidecarconfig.Config) {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "client"), []byte(APIKey), 0o600); err != nil {
		tb.Fatal(err)
	}
	return func(r *Fixture, c *sidecarconfig.Config) {
		r.apiKeys = dir
		c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{
			Type: sidecarconfig.AuthenticationAPIKey, APIKey: &sidecarconfig.APIKeyAuthentication{Header: sidecarconfig.DefaultAPIKeyHeader},
		})
	}
}

// WithoutAnonymous takes away that everybody is admitted, and has the card say
// what the other methods ask for. It is the last change of a sidecar's access.
func WithoutAnonymous(_ *Fixture, c *sidecarconfig.Config) {
	c.Access.Authentication = slices.DeleteFunc(c.Access.Authentication, func(a sidecarconfig.Authentication) bool {
		return a.Type == sidecarconfig.AuthenticationAnonymous
	})
	c.Card.SecuritySchemes = c.Access.Schemes()
}

// Webhook is a URL that push notifications may go to under WithEverything. It
// is of a range for documentation: nobody is there.
const Webhook = "https://203.0.113.7/a2a"

// Token is the one of a ServiceAccount in the agent's namespace.
func (r *Fixture) Token(tb testing.TB, name string) string {
	tb.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: r.key, KeyID: "k"}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer, "aud": audience, "sub": "system:serviceaccount:team:" + name,
		"exp":           time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": name}},
	}).Serialize()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// Calls counts the requests that the agent has seen.
func (r *Fixture) Calls() int { return int(r.calls.Load()) }

// AwaitCall returns when the agent has seen a request.
func (r *Fixture) AwaitCall(tb testing.TB) {
	tb.Helper()
	select {
	case <-r.called:
	case <-time.After(10 * time.Second):
		tb.Fatal("the agent is not called")
	}
}

// Client returns a client whose every response is validated against the
// protocol's schemas. It shows the token, if it is given one.
func Client(tb testing.TB, token ...string) *http.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	var base http.RoundTripper = transport
	if len(token) > 0 {
		base = bearer{transport, token[0]}
	}
	return &http.Client{Transport: spec.NewTransport(tb, base)}
}

type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// Plain returns a client whose responses are not validated, for what is no
// sidecar.
func Plain(tb testing.TB) *http.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
