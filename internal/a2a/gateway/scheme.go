// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// schemeAge is how long it is remembered that an agent is served in the
	// clear, and with TLS.
	schemeAge    = time.Minute
	schemeAgeTLS = time.Hour
	// maxSchemes bounds what is remembered.
	maxSchemes = 1024
	// probeTimeout bounds the question.
	probeTimeout = 5 * time.Second
)

// schemes finds out which agents are served with TLS: their names do not tell.
// An agent with TLS tells those who come without it, and is asked before a
// token is sent.
type schemes struct {
	http.RoundTripper
	now func() time.Time

	mu    sync.Mutex
	known map[string]scheme
}

type scheme struct {
	secure bool
	until  time.Time
}

// errTLSWanted is of an agent that has TLS since it was last asked.
var errTLSWanted = errors.New("agent is served with TLS now; try again")

// RoundTrip implements http.RoundTripper.
func (s *schemes) RoundTrip(r *http.Request) (*http.Response, error) {
	if way, ok := r.Context().Value(wayKey{}).(*way); !ok || way.base == "" || !named(r.URL) {
		return s.RoundTripper.RoundTrip(r)
	}
	host := r.URL.Host
	secure, err := s.of(r.Context(), host)
	if err != nil {
		return nil, err
	}
	if secure {
		r = r.Clone(r.Context())
		r.URL.Scheme = "https"
	}
	response, err := s.RoundTripper.RoundTrip(r)
	switch {
	case secure && err != nil:
		// It may have lost its TLS. The next request finds out; this one has
		// a token, and goes nowhere without.
		s.forget(host)
	case !secure && err == nil && wantsTLS(response):
		s.forget(host)
		_ = response.Body.Close()
		return nil, errTLSWanted
	}
	return response, err
}

// named reports whether an address is that of an agent by its name alone.
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
	s.known[host] = scheme{secure, s.now().Add(age)}
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

// wantsTLS recognizes the answer of RFC 2817.
func wantsTLS(r *http.Response) bool {
	return r.StatusCode == http.StatusUpgradeRequired && strings.HasPrefix(r.Header.Get("Upgrade"), "TLS/")
}
