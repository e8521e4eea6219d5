// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelserver calls a model server for turns of the agent, holds its API key, and
// tracks the health of a server outside of the pod.
package modelserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/chat"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Server creates backends for a model server. It holds what their calls need in addition to
// the configuration, such as the API key. The fields must not change after the first call of
// a backend. Its methods are safe for concurrent use.
type Server struct {
	// Roots returns the authorities that verify a server outside of the pod.
	Roots func() *x509.CertPool
	// Local allows loopback addresses. They are forbidden in a pod, because there they lead
	// to the sidecar itself.
	Local bool
	Now   func() time.Time
	// ReloadKey reads the API key again and calls SetKey if it has changed. It is nil without
	// a key.
	ReloadKey func()

	// Health is the state of a server outside of the pod.
	Health Health

	key atomic.Pointer[string]
}

// maxKey is the maximum length of an API key, in bytes.
const maxKey = 8 << 10

// SetKey replaces the API key. If text is not an API key, the former key stays in use. The
// error does not contain the key.
func (s *Server) SetKey(text []byte) error {
	key, err := parseKey(text)
	if err != nil {
		return err
	}
	s.key.Store(&key)
	s.Health.keyChanged()
	return nil
}

// parseKey returns an API key without white space around it. The error does not contain the
// key.
func parseKey(text []byte) (string, error) {
	key := strings.TrimSpace(string(text))
	switch {
	case key == "":
		return "", errors.New("is empty, must hold an API key")
	case len(key) > maxKey:
		return "", fmt.Errorf("is longer than %d bytes", maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("must hold one API key of visible ASCII characters, without blanks and line breaks within")
	}
	return key, nil
}

// currentKey returns the API key, "" for none.
func (s *Server) currentKey() string {
	if key := s.key.Load(); key != nil {
		return *key
	}
	return ""
}

// refreshKey reads the API key again and returns it. It is called when a server has
// refused the key, because the watch of the file may report a change late.
func (s *Server) refreshKey() string {
	if s.ReloadKey != nil {
		s.ReloadKey()
	}
	return s.currentKey()
}

// Limits of idle connections to a model server. Common servers close idle connections
// after 5 s. The sidecar closes them earlier, so that no request is sent on a connection
// that the server closes at this moment.
const (
	maxIdle     = 64
	idleTimeout = time.Second
)

// Backend returns the backend for the model server, inside or outside of the pod.
func (s *Server) Backend(b *sidecarconfig.Backend, limits stream.Limits) (*chat.Backend, error) {
	options := chat.Options{
		URL: b.URL, Limits: limits, Now: s.Now, Model: b.Chat.Model, SystemPrompt: b.Chat.SystemPrompt,
		Key: s.currentKey, RefreshKey: s.refreshKey,
	}
	for _, h := range b.Chat.Headers {
		options.Headers = append(options.Headers, chat.Header{Name: h.Name, Value: h.Value})
	}
	if b.External() {
		u, err := url.Parse(b.URL)
		if err != nil {
			return nil, errors.New("backend URL cannot be parsed")
		}
		host, err := egress.Host(u)
		if err != nil {
			return nil, fmt.Errorf("backend URL: %w", err)
		}
		guard := egress.New(egress.Options{
			Policy:         &egress.Policy{Configured: []string{host}, Local: s.Local},
			ConnectTimeout: limits.Connect, MaxIdle: maxIdle, IdleTimeout: idleTimeout,
			Roots: s.Roots, Cleartext: http1.Wrap,
		})
		options.Transport, options.CloseIdle = transport{guard, &s.Health}, guard.CloseIdleConnections
	}
	return chat.New(options)
}

// transport calls a model server through the guard. Its errors describe why a call failed
// without the address.
type transport struct {
	guard  *egress.Guard
	health *Health
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.guard.RoundTrip(r)
	t.health.observe(r, response, err)
	if err != nil {
		return nil, explained(err)
	}
	if isRedirect(response) {
		_ = response.Body.Close()
		return nil, backend.Failed("The model server answered with a redirect, which is not followed; spec.workload.backend.chat.url must be where completions are served", nil)
	}
	return response, nil
}

// explained returns the error of a call without the address.
func explained(err error) error {
	if errors.Is(err, egress.ErrDenied) {
		return backend.Failed("The model server cannot be called: spec.workload.backend.chat.url leads to a loopback, link-local or metadata address", err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return backend.Interrupted("The name of the model server does not exist; see spec.workload.backend.chat.url", err)
		}
		return backend.Interrupted("The name of the model server cannot be resolved", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return backend.Failed("The certificate of the model server is not trusted; spec.trustBundle names further authorities", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return backend.Failed("The model server does not speak TLS at its address; see spec.workload.backend.chat.url", err)
	}
	return err
}
