// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// agentProbe checks whether the agent listens. It caches a result for probeMaxAge, so
// that many readiness probes cause few connections. Until the agent has listened once, it
// caches for startMaxAge only, so that a starting pod becomes ready without delay.
type agentProbe struct {
	// url returns the URL of the backend.
	url func() string
	now func() time.Time

	mu   sync.Mutex
	last error
	at   time.Time
	// listened is true once a check has found the agent listening.
	listened bool
}

const (
	probeMaxAge  = time.Second
	startMaxAge  = 100 * time.Millisecond
	probeTimeout = 800 * time.Millisecond
)

// check returns nil if the agent listens.
func (p *agentProbe) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	maxAge := startMaxAge
	if p.listened {
		maxAge = probeMaxAge
	}
	if !p.at.IsZero() && p.now().Sub(p.at) < maxAge {
		return p.last
	}
	// Other callers get the cached result, so the check must not fail because ctx of this
	// caller ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	address := dialAddress(p.url())
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		err = fmt.Errorf("agent does not listen on %s: its container must listen on $PORT", address)
	} else {
		_ = connection.Close()
	}
	p.last, p.at, p.listened = err, p.now(), p.listened || err == nil
	return err
}

// dialAddress returns the host and port of an http URL.
func dialAddress(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return host
}
