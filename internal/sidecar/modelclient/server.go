// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelclient calls a model server for turns of the agent, holds its API key, and
// tracks the health of a server outside of the pod.
package modelclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/agenttools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/skilltools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Server creates backends for a model server. It holds what their calls need in addition to
// the configuration, such as the API key. The fields must not change after the first call of
// a backend. Its methods are safe for concurrent use.
type Server struct {
	// Roots returns the authorities that verify a server outside of the pod.
	Roots func() *x509.CertPool
	// Proxy returns the proxy for public https servers, nil for none.
	Proxy func() *egress.Proxy
	// Local allows loopback addresses. They are forbidden in a pod, because there they lead
	// to the sidecar itself.
	Local bool
	// Protected are the pod, its node and the API server. The server may be on the node only.
	Protected *egress.Protected
	// Ways returns how people decide about calls of tools.
	Ways func() approval.Ways
	// Memory has the answers of MCP servers.
	Memory *limit.Budget
	// Tracer makes the spans of steps; nil for none.
	Tracer *tracing.Tracer
	Log    *slog.Logger
	Now    func() time.Time
	// ReloadKey reads the API key again and calls SetKey if it has changed. It is nil without
	// a key.
	ReloadKey func()
	// Skills are the skills that the model may load. It is nil if there is no directory of skills.
	Skills *skilltools.Skills
	// SecretsDir is the directory with the API keys of further model servers, and with the headers of MCP servers.
	SecretsDir string
	// TokenFor returns a token for the MCP server at a URL that names a subject, or the agent itself for nil, and the function that drops the
	// token from the cache. It is nil without a gateway.
	TokenFor func(ctx context.Context, url string, subject *a2a.Subject) (token string, reject func(), err error)
	// Agents returns the tools of agents, nil without a gateway.
	Agents func(agenttools.Options) *agenttools.Agents

	// Health is the state of a server outside of the pod, and Tools that of the MCP servers.
	Health Health
	Tools  ToolHealth

	key          atomic.Pointer[string]
	instructions atomic.Pointer[string]
}

// maxKey is the maximum length of an API key, in bytes.
const maxKey = 8 << 10

// SetKey replaces the API key, without white space around it. If text is not an API key, SetKey returns an error, and
// the former key stays in use. The error does not contain the key.
func (s *Server) SetKey(text []byte) error {
	key, err := parseSecret(text)
	switch {
	case err != nil:
		return err
	case strings.Contains(key, " "):
		return errors.New("must hold one API key, without blanks within")
	}
	s.key.Store(&key)
	s.Health.refused.Store(nil)
	return nil
}

// parseSecret returns a secret without white space around it. The error does not contain the secret.
func parseSecret(text []byte) (string, error) {
	key := strings.TrimSpace(string(text))
	switch {
	case key == "":
		return "", errors.New("is empty, must hold a key or another value")
	case len(key) > maxKey:
		return "", fmt.Errorf("is longer than %d bytes", maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("must hold one value of visible ASCII characters, without line breaks within")
	}
	return key, nil
}

// secret reads a secret of SecretsDir. The error does not contain the secret.
func (s *Server) secret(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(s.SecretsDir, name))
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	value, err := parseSecret(text)
	if err != nil {
		return "", fmt.Errorf("secret %s %w", name, err)
	}
	return value, nil
}

// SetInstructions replaces the instructions of the configuration with those of a file. If text cannot be used, SetInstructions returns an
// error, and the former instructions stay in use.
func (s *Server) SetInstructions(text []byte) error {
	switch {
	case len(text) > sidecarconfig.MaxInstructions:
		return fmt.Errorf("is longer than %d bytes", sidecarconfig.MaxInstructions)
	case !utf8.Valid(text):
		return errors.New("is not UTF-8")
	}
	s.instructions.Store(new(string(text)))
	return nil
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

// transport calls a model server through the guard. Its errors say why a call failed, and
// do not contain the address.
type transport struct {
	guard  *egress.Guard
	health *Health
	// field is the field with the URL of the server.
	field string
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.guard.RoundTrip(r)
	t.health.observe(r, response, err)
	if err != nil {
		return nil, t.explained(err)
	}
	if isRedirect(response) {
		_ = response.Body.Close()
		return nil, backend.Failed("The model server answered with a redirect, which is not followed; "+t.field+" must be where completions are served", nil)
	}
	return response, nil
}

// explained returns an error that says why a call failed. It does not contain the
// address.
func (t transport) explained(err error) error {
	if errors.Is(err, egress.ErrDenied) {
		return backend.Failed("The model server cannot be called: "+t.field+" leads to a loopback, link-local or metadata address, to the pod itself or to the API server", err)
	}
	if proxy, ok := errors.AsType[*egress.ProxyError](err); ok && !isTLS(err) {
		return backend.Interrupted("The model server cannot be reached: "+proxy.Reason()+"; see spec.egress.proxy", err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return backend.Interrupted("The name of the model server does not exist; see "+t.field, err)
		}
		return backend.Interrupted("The name of the model server cannot be resolved", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return backend.Failed("The certificate of the model server is not trusted; spec.trustBundle names further authorities", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return backend.Failed("The model server does not speak TLS at its address; see "+t.field, err)
	}
	return err
}

// isTLS reports whether the TLS handshake with the server failed.
func isTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return certificate || record
}

// refusal is why a server refuses completions.
type refusal struct {
	cause sidecarconfig.HealthCause
	text  string
}

// Health tracks the state of a model server outside of the pod. The zero value tracks no
// server. Its methods are safe for concurrent use.
type Health struct {
	// tracked is nil if the server is in the pod.
	tracked *health.Dependency
	// failed has an element when a call has failed.
	failed chan struct{}
	// reached is true once the server has responded to a call.
	reached atomic.Bool
	// problem is the error of the last failed call before the server has responded for the
	// first time. It is nil until a call fails.
	problem atomic.Pointer[error]
	// refused is why the server has refused a completion: its key (401 or 403), its model or its
	// tools. While it is not nil, a successful list of models does not make the server
	// healthy, because a server may return the list for a key that it refuses for
	// completions. refused becomes nil when a completion does not fail, when the server
	// refuses the list with 401, and when the key or the configuration changes.
	refused atomic.Pointer[refusal]
}

// Track starts to track the model server outside of the pod.
func (h *Health) Track(tracker *health.Tracker) {
	h.failed = make(chan struct{}, 1)
	h.tracked = tracker.Add(sidecarconfig.DependencyModelServer, health.Options{LostAfter: lostAfter})
}

// observe records the result of a call.
func (h *Health) observe(r *http.Request, response *http.Response, err error) {
	if h.tracked == nil {
		return
	}
	host := r.URL.Host
	why := h.refused.Load()
	switch {
	case err != nil && r.Context().Err() != nil:
		if _, timeout := errors.AsType[*backend.TurnError](context.Cause(r.Context())); !timeout {
			return // the caller canceled the call, which shows nothing about the server
		}
		h.tracked.Failf(sidecarconfig.CauseTimedOut, "%s does not answer in time", host)
	case errors.Is(err, egress.ErrDenied):
		h.tracked.Failf(sidecarconfig.CauseInvalid, "%s: a loopback, link-local or metadata address, the pod itself and the API server are not called", host)
	case err != nil:
		cause, text := health.CauseOf(err)
		h.tracked.Failf(cause, "%s: %s", host, text)
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden && r.Method != http.MethodGet:
		// The 401 for a list of models (GET) does not set refused, because a server may
		// forbid the list to a key that may use completions. For the same reason, a 403 for
		// the list is not a failure.
		text := fmt.Sprintf("%s answers with status %d", host, response.StatusCode)
		h.refused.Store(nil)
		if r.Method != http.MethodGet {
			h.refused.Store(&refusal{sidecarconfig.CauseAuthentication, text})
		}
		h.tracked.Failf(sidecarconfig.CauseAuthentication, "%s", text)
	case response.StatusCode == http.StatusInternalServerError, response.StatusCode == http.StatusBadGateway,
		response.StatusCode == http.StatusServiceUnavailable, response.StatusCode == http.StatusGatewayTimeout:
		h.tracked.Failf(sidecarconfig.CauseNotServing, "%s answers with status %d", host, response.StatusCode)
	case isRedirect(response):
		h.tracked.Failf(sidecarconfig.CauseInvalid, "%s answers with status %d, and redirects are not followed", host, response.StatusCode)
	case r.Method != http.MethodGet && (response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusBadRequest):
		return // refuse knows whether the configuration or the message is wrong
	case r.Method == http.MethodGet && why != nil:
		// The list does not show whether completions are accepted: a server may return it for any
		// key, or forbid it for every key.
		h.tracked.Failf(why.cause, "%s", why.text)
		return
	default:
		h.refused.Store(nil)
		h.tracked.Succeeded()
		return
	}
	select {
	case h.failed <- struct{}{}:
	default:
	}
}

// refuse records that the server has refused a completion because of the configuration of the agent.
func (h *Health) refuse(reason string) {
	if h.tracked == nil {
		return
	}
	h.refused.Store(&refusal{sidecarconfig.CauseInvalid, reason})
	h.tracked.Failf(sidecarconfig.CauseInvalid, "%s", reason)
	select {
	case h.failed <- struct{}{}:
	default:
	}
}

// reachRetryFirst and reachRetryMax bound the backoff until the server has responded for
// the first time, and regainRetryFirst and regainRetryMax the backoff after a later
// failure. lostAfter is how long calls must fail until the server is no longer healthy.
const (
	reachRetryFirst  = 200 * time.Millisecond
	reachRetryMax    = 5 * time.Second
	lostAfter        = 5 * time.Second
	regainRetryFirst = time.Second
	regainRetryMax   = 30 * time.Second
)

// Follow calls the model server with exponential backoff until it responds. After any
// later call has failed, Follow calls it with backoff until a call succeeds, so that the
// state of the server is known even without turns. It returns when ctx ends.
func (h *Health) Follow(ctx context.Context, log *slog.Logger, url string, call func(context.Context) error) {
	if h.tracked == nil {
		return
	}
	h.reach(ctx, log, url, call)
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.failed:
		}
		for retry := regainRetryFirst; h.tracked.Failing(); retry = min(2*retry, regainRetryMax) {
			if stream.Sleep(ctx, retry) != nil {
				return
			}
			_ = call(ctx) // observe records the result
		}
	}
}

// reach calls the server with exponential backoff. It returns when the server has
// responded, or when ctx ends.
func (h *Health) reach(ctx context.Context, log *slog.Logger, url string, call func(context.Context) error) {
	logged := ""
	retry := reachRetryFirst
	for !h.reached.Load() {
		err := call(ctx)
		if err == nil {
			h.reached.Store(true)
			log.InfoContext(ctx, "model server reached", "url", url)
			return
		}
		h.problem.Store(&err)
		if text := err.Error(); text != logged && ctx.Err() == nil {
			logged = text
			log.WarnContext(ctx, "model server not reached", "url", url, "error", err)
		}
		if stream.Sleep(ctx, retry) != nil {
			return
		}
		retry = min(2*retry, reachRetryMax)
	}
}

// Ready returns an error until the server has responded once. A later failure of the
// server does not make the pod unready: the error of a failed task is more helpful to
// callers than a refused connection.
func (h *Health) Ready() error {
	if h.reached.Load() {
		return nil
	}
	if problem := h.problem.Load(); problem != nil {
		return fmt.Errorf("model server not reached: %w", *problem)
	}
	return errors.New("model server not reached yet")
}

func isRedirect(response *http.Response) bool {
	return response.StatusCode >= 300 && response.StatusCode < 400
}
