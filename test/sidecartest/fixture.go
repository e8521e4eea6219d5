// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecartest is a test fixture: a whole sidecar on real sockets in front of an
// agent. Only tests import it.
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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
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
	// Health is the base of the probes.
	Health string
	// Gateway is the base URL of the gateway, through which the agent calls other agents.
	Gateway string

	// MemoryLimit is the memory limit of the sidecar in bytes. It defaults to that of a sidecar without a limit.
	MemoryLimit int64

	// Log receives the log of the sidecar. By default, the log is discarded.
	Log slog.Handler

	// Store is the URL of a Redis server, which several sidecars may share; "" for tasks in memory. StorePasswordFile is the file with the
	// password of its user.
	Store, StorePasswordFile string

	// apiKeys is the directory with a file for each caller; "" for none.
	apiKeys string
	// certificate is the directory with tls.crt and tls.key; "" means no TLS.
	certificate string

	key    *ecdsa.PrivateKey
	calls  atomic.Int64
	called chan struct{}
	stop   func()
}

// Stop ends the sidecar as SIGTERM does, and waits for its end.
func (f *Fixture) Stop() { f.stop() }

// Start runs a sidecar until the test ends. The sidecar admits anonymous callers, unless
// a change replaces this setting.
func Start(tb testing.TB, agent http.HandlerFunc, change ...func(*Fixture, *sidecarconfig.Config)) *Fixture {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	f := &Fixture{key: key, called: make(chan struct{}), Log: slog.DiscardHandler}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.calls.Add(1) == 1 {
			close(f.called)
		}
		agent(w, r)
	}))
	tb.Cleanup(backend.Close)
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "echo"},
		Card: card.Card{
			Name: "Interop", Description: "An agent for tests", Version: "1.0",
			// The card lists all bindings, so that clients of each binding find theirs.
			Bindings: card.Bindings,
			Skills:   []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: backend.URL},
		Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(10 * time.Second)},
	}
	for _, c := range change {
		c(f, config)
	}
	text, err := sidecarconfig.Encode(config)
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), sidecarconfig.FileName)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	s, err := sidecar.Open(tb.Context(), &settings.Options{
		ConfigFile: file, Listen: "127.0.0.1:0", HealthListen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0",
		APIKeys: f.apiKeys, TLS: f.certificate, MemoryLimit: f.MemoryLimit, Store: f.Store, StorePasswordFile: f.StorePasswordFile,
	}, slog.New(f.Log), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Serve() error = %v", err)
		}
	})
	tb.Cleanup(f.stop)
	scheme := "http://"
	if f.certificate != "" {
		scheme = "https://"
	}
	f.URL, f.Health, f.Gateway = scheme+s.Addresses().Agent, "http://"+s.Addresses().Health, "http://"+s.Addresses().Gateway
	return f
}

// WithTokens makes a sidecar require tokens that Token signs.
func WithTokens(f *Fixture, c *sidecarconfig.Config) {
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.key.Public(), KeyID: "k"}}})
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

// WithEverything also admits callers with a token, adds an extended card for them, and
// allows push notifications to the host of Webhook.
func WithEverything(f *Fixture, c *sidecarconfig.Config) {
	anonymous := c.Access.Authentication
	WithTokens(f, c)
	c.Access.Authentication = append(c.Access.Authentication, anonymous...)
	c.Card.Skills = append(c.Card.Skills, card.Skill{ID: "x", Name: "X", Description: "d", Tags: []string{"t"}, Extended: true})
	c.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{CIDR: "203.0.113.0/24"}}}
}

// WithTLS returns a change that serves the A2A endpoint with the certificate and
// the key of a directory, as tls.crt and tls.key.
func WithTLS(dir string) func(*Fixture, *sidecarconfig.Config) {
	return func(f *Fixture, _ *sidecarconfig.Config) { f.certificate = dir }
}

// APIKey is a key that WithAPIKey admits.
const APIKey = "key-of-a-client-0123456789abcdef"

// WithAPIKey returns a change that also admits callers with APIKey in the header
// X-API-Key.
func WithAPIKey(tb testing.TB) func(*Fixture, *sidecarconfig.Config) {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "client"), []byte(APIKey), 0o600); err != nil {
		tb.Fatal(err)
	}
	return func(f *Fixture, c *sidecarconfig.Config) {
		f.apiKeys = dir
		c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{
			Type: sidecarconfig.AuthenticationAPIKey, APIKey: &sidecarconfig.APIKeyAuthentication{Header: sidecarconfig.DefaultAPIKeyHeader},
		})
	}
}

// WithoutAnonymous refuses anonymous callers, and lists the security schemes of the other
// methods on the card. It must come after all other changes of the sidecar's access.
func WithoutAnonymous(_ *Fixture, c *sidecarconfig.Config) {
	c.Access.Authentication = slices.DeleteFunc(c.Access.Authentication, func(a sidecarconfig.Authentication) bool {
		return a.Type == sidecarconfig.AuthenticationAnonymous
	})
	c.Card.SecuritySchemes = c.Access.Schemes()
}

// Webhook is a URL to which WithEverything allows push notifications. Its address is
// reserved for documentation, so no host has it.
const Webhook = "https://203.0.113.7/a2a"

// Token returns a token of a ServiceAccount in the agent's namespace.
func (f *Fixture) Token(tb testing.TB, name string) string {
	tb.Helper()
	return f.TokenOf(tb, "team", name)
}

// TokenOf returns a token of a ServiceAccount in a namespace. WithTokens admits the namespace team only.
func (f *Fixture) TokenOf(tb testing.TB, namespace, name string) string {
	tb.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: f.key, KeyID: "k"}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer, "aud": audience, "sub": "system:serviceaccount:" + namespace + ":" + name,
		"exp":           time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": namespace, "serviceaccount": map[string]any{"name": name}},
	}).Serialize()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// Calls returns the number of requests to the agent.
func (f *Fixture) Calls() int { return int(f.calls.Load()) }

// AwaitCall waits until the agent has received a request.
func (f *Fixture) AwaitCall(tb testing.TB) {
	tb.Helper()
	select {
	case <-f.called:
	case <-time.After(10 * time.Second):
		tb.Fatal("the agent is not called")
	}
}

// Client returns a client that validates every response against the schemas of the
// protocol. It sends the token, if there is one.
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

// Plain returns a client that does not validate responses, for servers other than the
// sidecar.
func Plain(tb testing.TB) *http.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
