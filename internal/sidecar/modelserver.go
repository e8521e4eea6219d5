// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
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
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// modelServer creates backends for a model server. It holds what their calls need in
// addition to the configuration, such as the API key.
type modelServer struct {
	*environment

	// source is the source of the API key. It is nil without a key.
	source *reload.Source
	key    atomic.Pointer[string]
	health modelServerHealth
}

// maxChatKey is the maximum length of an API key, in bytes.
const maxChatKey = 8 << 10

// addChatKey reads the API key for the model server from a file, and reads it again when
// the file changes.
func (m *modelServer) addChatKey(file string) error {
	source := m.fileSource("chat-api-key", file, sidecarconfig.DependencyModelServerKey, "the former API key stays in use", func(text []byte) error {
		key, err := parseChatKey(text)
		if err != nil {
			return err
		}
		m.key.Store(&key)
		m.health.keyChanged()
		return nil
	})
	m.source = source
	return m.addCredential(source, ErrChatKey)
}

// parseChatKey returns an API key without white space around it. The error does not
// contain the key.
func parseChatKey(text []byte) (string, error) {
	key := strings.TrimSpace(string(text))
	switch {
	case key == "":
		return "", errors.New("is empty, must hold an API key")
	case len(key) > maxChatKey:
		return "", fmt.Errorf("is longer than %d bytes", maxChatKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("must hold one API key of visible ASCII characters, without blanks and line breaks within")
	}
	return key, nil
}

// currentKey returns the API key, "" for none.
func (m *modelServer) currentKey() string {
	if key := m.key.Load(); key != nil {
		return *key
	}
	return ""
}

// refreshKey reads the API key again and returns it. It is called when a server has
// refused the key, because the watch of the file may report a change late.
func (m *modelServer) refreshKey() string {
	if m.source != nil {
		m.reloader.Reload(m.source)
	}
	return m.currentKey()
}

// Limits of idle connections to a model server. Common servers close idle connections
// after 5 s. The sidecar closes them earlier, so that no request is sent on a connection
// that the server closes at this moment.
const (
	modelServerMaxIdle     = 64
	modelServerIdleTimeout = time.Second
)

// backend returns the backend for a model server, inside or outside of the pod.
func (m *modelServer) backend(b *sidecarconfig.Backend, limits stream.Limits) (*chat.Backend, error) {
	options := chat.Options{
		URL: b.URL, Limits: limits, Now: m.now, Model: b.Chat.Model, SystemPrompt: b.Chat.SystemPrompt,
		Key: m.currentKey, RefreshKey: m.refreshKey,
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
			// Loopback addresses are forbidden in a pod, because there they lead to the sidecar
			// itself.
			Policy:         &egress.Policy{Configured: []string{host}, Local: m.standalone()},
			ConnectTimeout: limits.Connect, MaxIdle: modelServerMaxIdle, IdleTimeout: modelServerIdleTimeout,
			Roots: m.trust.roots, Cleartext: http1.Wrap,
		})
		options.Transport, options.CloseIdle = modelServerTransport{guard, &m.health}, guard.CloseIdleConnections
	}
	return chat.New(options)
}

// modelServerTransport calls a model server through the guard. Its errors describe why a
// call failed without the address.
type modelServerTransport struct {
	guard  *egress.Guard
	health *modelServerHealth
}

// RoundTrip implements http.RoundTripper.
func (t modelServerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.guard.RoundTrip(r)
	t.health.observe(r, response, err)
	if err != nil {
		return nil, explainModelServer(err)
	}
	if isRedirect(response) {
		_ = response.Body.Close()
		return nil, backend.Failed("The model server answered with a redirect, which is not followed; spec.workload.backend.chat.url must be where completions are served", nil)
	}
	return response, nil
}

func explainModelServer(err error) error {
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
