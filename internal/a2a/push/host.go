// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// The circuit breaker of a host opens after tripAfter failed requests in a row. It
// stays open for cooldown, in which no request is sent; after that, one request at a
// time tries the host until one succeeds, which closes it.
const (
	tripAfter = 5
	cooldown  = 30 * time.Second
)

// host is what deliveries to one host and port share. Pushes.mu guards it.
type host struct {
	name string
	// users are the deliveries to it, inFlight the requests.
	users, inFlight int
	// failures counts the failed requests since the last that succeeded.
	failures  int
	openUntil time.Time
	// parked wait for a request to end.
	parked []*delivery
}

// hostOf returns the host of a URL, which has one more user. mu is held.
func (p *Pushes) hostOf(raw string) *host {
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

// leave ends the use of a host by a delivery, and of its owner's share. mu is held.
func (p *Pushes) leave(d *delivery) {
	h := d.host
	h.parked = slices.DeleteFunc(h.parked, func(other *delivery) bool { return other == d })
	if h.users--; h.users == 0 {
		delete(p.hosts, h.name)
	}
	if d.owner.users--; d.owner.users == 0 {
		delete(p.owners, d.owner.name)
	}
}

// admission is the decision of the concurrency limiter and the circuit breaker of a
// host about a delivery that wants to send.
type admission struct {
	// parked is true when it will be called, and openFor above 0 when it should
	// not ask before.
	parked  bool
	openFor time.Duration
}

// admit takes a place among the requests to the host, or says why there is none.
func (p *Pushes) admit(d *delivery) admission {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := d.host
	others := h.inFlight
	if d.slot {
		others--
	}
	if h.failures >= tripAfter {
		if wait := h.openUntil.Sub(p.options.Now()); wait > 0 {
			return admission{openFor: wait}
		}
		if others > 0 {
			return admission{openFor: cooldown / 10}
		}
	}
	switch {
	case d.slot:
	case d.gone || h.inFlight < p.options.PerHost:
		d.slot = true
		h.inFlight++
	default:
		p.move(d, parked)
		d.woken = false
		h.parked = append(h.parked, d)
		return admission{parked: true}
	}
	return admission{}
}

// judge records the outcome of a request for the circuit breaker of the host.
func (p *Pushes) judge(h *host, healthy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if healthy {
		h.failures = 0
	} else if h.failures++; h.failures >= tripAfter {
		h.openUntil = p.options.Now().Add(cooldown)
	}
}

// vacate hands a delivery's place to the next that waits for one. mu is held.
func (p *Pushes) vacate(d *delivery) {
	if !d.slot {
		return
	}
	d.slot = false
	h := d.host
	if len(h.parked) == 0 {
		h.inFlight--
		return
	}
	first := h.parked[0]
	h.parked = slices.Delete(h.parked, 0, 1)
	first.slot = true
	p.enqueue(first)
}
