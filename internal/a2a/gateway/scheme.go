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
	// schemeAge is how long the scheme of an agent without TLS is cached, and
	// schemeAgeTLS that of an agent with TLS.
	schemeAge    = time.Minute
	schemeAgeTLS = time.Hour
	// maxSchemes bounds the cache.
	maxSchemes = 1024
	// probeTimeout bounds a probe.
	probeTimeout = 5 * time.Second
)

// schemes finds out which agents are served with TLS, which their names do not show. It uses
// TLS for an agent that the registry lists with https, whatever the network answers. For
// others, whose listing may be older than their TLS, the transport probes each agent without a
// token before it sends one: a sidecar with TLS answers a request without TLS by 426.
type schemes struct {
	http.RoundTripper
	now func() time.Time

	mu    sync.Mutex
	known map[string]scheme
}

type scheme struct {
	secure bool
	// found is the time of the probe.
	found, until time.Time
}

// RoundTrip implements http.RoundTripper.
func (s *schemes) RoundTrip(r *http.Request) (*http.Response, error) {
	to, ok := r.Context().Value(destinationKey{}).(*destination)
	if !ok || to.kind != kindAgent || !named(r.URL) {
		return s.RoundTripper.RoundTrip(r)
	}
	host, secure := r.URL.Host, to.listed.secure
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
		// The agent has lost its TLS if the registry has listed it without TLS since the
		// probe: the next request probes it again. Otherwise an attacker may have caused the
		// error, to get a token without TLS.
		s.forgetBefore(host, to.listed.asked)
	case !secure && err == nil && wantsTLS(response):
		s.forget(host)
		_ = response.Body.Close()
		return nil, errTLSWanted
	}
	return response, err
}

// named reports whether a URL has the name of an agent only, without scheme or port.
func named(u *url.URL) bool { return u.Scheme == "http" && u.Port() == "" }

// of reports whether a host is served with TLS.
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

// forgetBefore drops the scheme of a host if it was found before a time.
func (s *schemes) forgetBefore(host string, limit time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[host].found.Before(limit) {
		delete(s.known, host)
	}
}

// wantsTLS reports whether a response asks for TLS (RFC 2817).
func wantsTLS(r *http.Response) bool {
	return r.StatusCode == http.StatusUpgradeRequired && strings.HasPrefix(r.Header.Get("Upgrade"), "TLS/")
}
