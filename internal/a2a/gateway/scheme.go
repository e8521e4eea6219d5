// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// schemeAge is how long the gateway caches that an agent has no TLS, and schemeAgeTLS that
	// an agent has TLS.
	schemeAge    = time.Minute
	schemeAgeTLS = time.Hour
	// maxSchemes is the maximum number of cached schemes. If the cache is full, the next
	// scheme clears it.
	maxSchemes = 1024
	// probeTimeout bounds a probe.
	probeTimeout = 5 * time.Second
)

// schemes determines which agents are served with TLS, because the host name of an agent
// does not show it. If the registry lists an agent with https, schemes always uses TLS. For
// other agents, the listing may be out of date. Before schemes sends a token to such an
// agent, it therefore probes the agent with a request without a token. A sidecar with TLS
// answers a request without TLS with status 426.
type schemes struct {
	http.RoundTripper
	now func() time.Time

	mu    sync.Mutex
	known map[string]scheme
}

type scheme struct {
	secure bool
	// found is the time of the probe. until is the time until which its result is used.
	found, until time.Time
}

// RoundTrip implements http.RoundTripper.
func (s *schemes) RoundTrip(r *http.Request) (*http.Response, error) {
	to, ok := r.Context().Value(destinationKey{}).(*destination)
	if !ok || to.kind != kindAgent || !named(r.URL) {
		return s.RoundTripper.RoundTrip(r)
	}
	host := r.URL.Host
	secure := to.listed.secure
	if !secure {
		var err error
		if secure, err = s.of(r.Context(), host); err != nil {
			return nil, err
		}
	}
	if secure {
		r = r.Clone(r.Context())
		r.URL.Scheme = "https"
	}
	response, err := s.RoundTripper.RoundTrip(r)
	switch {
	case secure && err != nil:
		// If the registry listed the agent without TLS after the probe, the agent has no TLS any
		// more. Its scheme is then forgotten, and the next request probes it again. Otherwise, the
		// cached scheme stays, because an attacker may have caused the error to receive a token
		// without TLS.
		s.forgetBefore(host, to.listed.asked)
	case !secure && err == nil && wantsTLS(response):
		s.forget(host)
		_ = response.Body.Close()
		return nil, errTLSWanted
	}
	return response, err
}

// named reports whether a URL has the scheme http and no port, as in the default AgentURL.
// For other URLs, the configuration determines the scheme.
func named(u *url.URL) bool { return u.Scheme == "http" && u.Port() == "" }

// of reports whether a host is served with TLS. If no current scheme is cached, it probes
// the host and caches the result.
func (s *schemes) of(ctx context.Context, host string) (bool, error) {
	s.mu.Lock()
	known, ok := s.known[host]
	s.mu.Unlock()
	if ok && s.now().Before(known.until) {
		return known.secure, nil
	}
	secure, err := s.ask(ctx, host)
	if err != nil {
		return false, err
	}
	age := schemeAge
	if secure {
		age = schemeAgeTLS
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSchemes {
		clear(s.known)
	}
	s.known[host] = scheme{secure: secure, found: s.now(), until: s.now().Add(age)}
	return secure, nil
}

func (s *schemes) ask(ctx context.Context, host string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	address := url.URL{Scheme: "http", Host: host, Path: "/.well-known/agent-card.json"}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, address.String(), nil)
	if err != nil {
		return false, err
	}
	response, err := s.RoundTripper.RoundTrip(r)
	if err != nil {
		return false, err
	}
	_ = response.Body.Close()
	return wantsTLS(response), nil
}

func (s *schemes) forget(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, host)
}

// forgetBefore removes the cached scheme of a host if it was found before limit.
func (s *schemes) forgetBefore(host string, limit time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[host].found.Before(limit) {
		delete(s.known, host)
	}
}

// wantsTLS reports whether a response requests an upgrade to TLS (RFC 2817).
func wantsTLS(r *http.Response) bool {
	return r.StatusCode == http.StatusUpgradeRequired && strings.HasPrefix(r.Header.Get("Upgrade"), "TLS/")
}
