// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/chat"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// modelServer is what the calls to a model server need beside the
// configuration: the API key, the trusted authorities, and whether loopback is
// allowed.
type modelServer struct {
	trust *trust
	// local lets the server be at a loopback address, which in a pod is the
	// sidecar itself.
	local bool
	// mount is what the key is read from, nil without a key.
	mount *mounted
	key   atomic.Pointer[string]
	// reached is true once the server has answered.
	reached atomic.Bool
	// problem is why it has not; nil before the first attempt.
	problem atomic.Pointer[error]
	// health is tracked where the server is elsewhere, else nil. failing has an
	// element when a call has failed.
	health  *health.Dependency
	failing chan struct{}
	// refused is true when the last completion was refused with 401 or 403, and the
	// key is still the same. What the list of models answers says nothing then.
	refused atomic.Bool
}

// trackModelServer adds the model server, if it is elsewhere. modelServer.ready
// says what it means for readiness.
func (s *Sidecar) trackModelServer(b *sidecarconfig.Backend) {
	s.model.failing = make(chan struct{}, 1)
	if b.External() {
		s.model.health = s.health.Add(sidecarconfig.DependencyModelServer, health.Options{LostAfter: modelServerLostAfter})
	}
}

// observe says how a call ended, before its error is explained to callers.
func (m *modelServer) observe(r *http.Request, response *http.Response, err error) {
	if m.health == nil {
		return
	}
	host := r.URL.Host
	switch {
	case err != nil && r.Context().Err() != nil:
		if _, late := errors.AsType[*backend.TurnError](context.Cause(r.Context())); !late {
			return // the caller has left
		}
		m.health.Failf(sidecarconfig.CauseTimedOut, "%s does not answer in time", host)
	case errors.Is(err, egress.ErrDenied):
		m.health.Failf(sidecarconfig.CauseInvalid, "%s: a loopback, link-local or metadata address is not called", host)
	case err != nil:
		cause, text := health.CauseOf(err)
		m.health.Failf(cause, "%s: %s", host, text)
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden && r.Method != http.MethodGet:
		// The list of models may be forbidden to a key that completions are not.
		m.refused.Store(r.Method != http.MethodGet)
		m.health.Failf(sidecarconfig.CauseAuthentication, "%s answers with status %d", host, response.StatusCode)
	case response.StatusCode == http.StatusInternalServerError, response.StatusCode == http.StatusBadGateway,
		response.StatusCode == http.StatusServiceUnavailable, response.StatusCode == http.StatusGatewayTimeout:
		m.health.Failf(sidecarconfig.CauseNotServing, "%s answers with status %d", host, response.StatusCode)
	case redirects(response):
		m.health.Failf(sidecarconfig.CauseInvalid, "%s answers with status %d, and redirects are not followed", host, response.StatusCode)
	case r.Method == http.MethodGet && m.refused.Load():
		// The list of models may be open to any key, or forbidden to all.
		return
	default:
		m.refused.Store(false)
		m.health.Succeeded()
		return
	}
	select {
	case m.failing <- struct{}{}:
	default:
	}
}

// maxChatKey bounds an API key, in bytes.
const maxChatKey = 8 << 10

// newChatKey reads the API key of the model server from a file. A file that
// cannot be used later leaves the former key in force.
func (s *Sidecar) newChatKey(file string) *mounted {
	dir, name := filepath.Split(file)
	dir = filepath.Clean(dir)
	m := s.mounted("chat-api-key", dir)
	s.trackMounted(m, sidecarconfig.DependencyModelServerKey, "the former API key stays in use")
	m.read = func() (map[string][]byte, error) { return readFiles(dir, []string{name}) }
	m.take = func(files map[string][]byte) error {
		key, err := parseChatKey(files[name])
		if err != nil {
			return fmt.Errorf("%s %w", file, err)
		}
		s.model.key.Store(&key)
		s.model.refused.Store(false)
		return nil
	}
	s.model.mount = m
	return m
}

// parseChatKey returns a key without the white space around it. The error does
// not hold the key.
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

// current returns the key, "" for none.
func (m *modelServer) current() string {
	if key := m.key.Load(); key != nil {
		return *key
	}
	return ""
}

// refresh reads the key again, for a server that refused it: the watch of the
// file may be behind.
func (m *modelServer) refresh() string {
	if m.mount != nil {
		m.mount.reload()
	}
	return m.current()
}

// Idle connections to a model server. Common servers close theirs after 5 s: the
// sidecar closes first, so that no request is lost to that race.
const (
	modelServerMaxIdle     = 64
	modelServerIdleTimeout = time.Second
)

// backend returns the backend of a model server, in the pod or elsewhere.
func (m *modelServer) backend(b *sidecarconfig.Backend, limits stream.Limits, options chat.Options) (*chat.Backend, error) {
	options.URL, options.Limits = b.URL, limits
	options.Model, options.SystemPrompt = b.Chat.Model, b.Chat.SystemPrompt
	options.Key, options.RefreshKey = m.current, m.refresh
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
			Policy:         &egress.Policy{Configured: []string{host}, Local: m.local},
			ConnectTimeout: limits.Connect, MaxIdle: modelServerMaxIdle, IdleTimeout: modelServerIdleTimeout,
			Roots: m.trust.roots,
		})
		options.Transport, options.CloseIdle = modelServerTransport{guard, m}, guard.CloseIdleConnections
	}
	return chat.New(options)
}

// modelServerTransport calls a model server through the guard and explains why
// a call was not made, without the address.
type modelServerTransport struct {
	guard *egress.Guard
	model *modelServer
}

// RoundTrip implements http.RoundTripper.
func (t modelServerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.guard.RoundTrip(r)
	t.model.observe(r, response, err)
	if err != nil {
		return nil, explainModelServer(err)
	}
	if redirects(response) {
		_ = response.Body.Close()
		return nil, backend.Failed("The model server answered with a redirect, which is not followed; spec.workload.backend.chat.url must be where completions are served", nil)
	}
	return response, nil
}

func redirects(response *http.Response) bool {
	return response.StatusCode >= 300 && response.StatusCode < 400
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

// Times between attempts to reach a model server for the first time.
const (
	reachFirst = 200 * time.Millisecond
	reachMost  = 5 * time.Second
)

// Times of a model server that was reached: how long its calls fail until it
// counts as lost, and what is between attempts to reach it again.
const (
	modelServerLostAfter = 5 * time.Second
	regainFirst          = time.Second
	regainMost           = 30 * time.Second
)

// followModelServer calls a model server elsewhere with exponential backoff until
// it answers, and again whenever a call has failed, so that its state is known
// without turns. It ends with ctx.
func (s *Sidecar) followModelServer(ctx context.Context) {
	s.awaitModelServer(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.model.failing:
		}
		for pause := regainFirst; s.model.health.Failing(); pause = min(2*pause, regainMost) {
			if stream.Sleep(ctx, pause) != nil {
				return
			}
			_ = s.turns.backend.check(ctx) // observe has the result
		}
	}
}

// awaitModelServer returns when the server has answered, or ctx has ended. The
// pod is not ready before.
func (s *Sidecar) awaitModelServer(ctx context.Context) {
	told, pause := "", reachFirst
	for s.current().Backend.External() && !s.model.reached.Load() {
		err := s.turns.backend.check(ctx)
		if err == nil {
			s.model.reached.Store(true)
			s.log.InfoContext(ctx, "model server reached", "url", s.current().Backend.URL)
			return
		}
		s.model.problem.Store(&err)
		if text := err.Error(); text != told && ctx.Err() == nil {
			told = text
			s.log.WarnContext(ctx, "model server not reached", "url", s.current().Backend.URL, "error", err)
		}
		if stream.Sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, reachMost)
	}
}

// ready reports why a pod takes no calls yet whose model server is elsewhere. A
// server that goes away later does not make the pod unready: its callers are
// told more by a failed task than by a refused connection.
func (m *modelServer) ready() error {
	if m.reached.Load() {
		return nil
	}
	if problem := m.problem.Load(); problem != nil {
		return fmt.Errorf("model server not reached: %w", *problem)
	}
	return errors.New("model server not reached yet")
}
