// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// The circuit breaker of a host opens after tripAfter failed requests in a row. It stays
// open for cooldown, in which no request is sent; after that, one request at a time tries
// the host until one succeeds, which closes the breaker.
const (
	tripAfter = 5
	cooldown  = 30 * time.Second
)

// useHost returns the host of a URL, and counts one more user of the host. mu is held.
func (p *Pushes) useHost(raw string) *host {
	name := ""
	if u, err := url.Parse(raw); err == nil {
		name = strings.ToLower(u.Host)
	}
	h := p.hosts[name]
	if h == nil {
		h = &host{name: name}
		p.hosts[name] = h
	}
	h.users++
	return h
}

// releaseHost ends the use of a host by a delivery. mu is held.
func (p *Pushes) releaseHost(d *delivery) {
	h := d.host
	h.waiting = slices.DeleteFunc(h.waiting, func(other *delivery) bool { return other == d })
	if h.users--; h.users == 0 {
		delete(p.hosts, h.name)
	}
}

// permission is the decision of the concurrency limiter and the circuit breaker of a
// host about a request.
type permission struct {
	// waits is true if the delivery waits for a slot, after which it is ready again.
	waits bool
	// openFor is the time for which the circuit breaker stays open, 0 if it is closed.
	openFor time.Duration
}

// allow takes a slot of the host for a request of a delivery, or returns why the request
// may not be sent now.
func (p *Pushes) allow(d *delivery) permission {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := d.host
	others := h.inFlight
	if d.hasSlot {
		others--
	}
	if h.failures >= tripAfter {
		if wait := h.openUntil.Sub(p.options.Now()); wait > 0 {
			return permission{openFor: wait}
		}
		if others > 0 {
			return permission{openFor: cooldown / 10}
		}
	}
	switch {
	case d.hasSlot:
	case d.dropped || h.inFlight < p.options.PerHost:
		d.hasSlot = true
		h.inFlight++
	default:
		p.setState(d, waiting)
		d.logChanged = false
		h.waiting = append(h.waiting, d)
		return permission{waits: true}
	}
	return permission{}
}

// record updates the circuit breaker of a host after a request.
func (p *Pushes) record(h *host, healthy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if healthy {
		h.failures = 0
	} else if h.failures++; h.failures >= tripAfter {
		h.openUntil = p.options.Now().Add(cooldown)
	}
}
