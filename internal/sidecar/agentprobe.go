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

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
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

// The backoff of reading the card of an agent whose backend protocol is A2A.
const (
	cardRetryFirst = 200 * time.Millisecond
	cardRetryMax   = 5 * time.Second
)

// trackAgentCard tracks the card of an agent whose backend protocol is A2A. No turn can
// run without the card, so the pod is not ready until the sidecar has read the card once.
// If the agent replaces the card later, turns read the new one.
func trackAgentCard(e *environment) *health.Dependency {
	return e.health.Add(sidecarconfig.DependencyAgentCard, health.Options{
		Blocks: func(is health.Status) bool { return !is.Reached },
	})
}

// awaitAgentCard reads the card with exponential backoff as soon as the agent listens. It
// returns when a read has succeeded, or when ctx ends.
func awaitAgentCard(ctx context.Context, e *environment, card *health.Dependency, agent *agentProbe, read func(context.Context) error) {
	for retry := cardRetryFirst; ctx.Err() == nil; retry = min(2*retry, cardRetryMax) {
		if agent.check(ctx) == nil {
			err := read(ctx)
			if err == nil {
				card.Succeeded()
				return
			}
			if ctx.Err() == nil {
				card.Failf(sidecarconfig.CauseInvalid, "%v", err)
				e.log.WarnContext(ctx, "reading the agent's card failed", "retryIn", retry, "error", err)
			}
		}
		if stream.Sleep(ctx, retry) != nil {
			return
		}
	}
}
