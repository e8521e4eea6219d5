// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The circuit breaker of an owner at a host opens after tripAfter failed requests in a row. It
// stays open for cooldown, in which no request of the owner is sent to the host. Then it is
// half-open: one request at a time tries the host. A success closes the breaker, and a failure
// opens it again.
const (
	tripAfter = 5
	cooldown  = 30 * time.Second
)

// endpoint identifies a host: the scheme, and the name with its port.
type endpoint struct{ scheme, address string }

// host is the state that the deliveries to one endpoint share. Pushes.mu guards it.
type host struct {
	endpoint
	// inFlight counts the requests.
	inFlight int
	// waiting are the deliveries that wait for a slot.
	waiting []*delivery
	// shares are the shares of the owners with a delivery to the host, by owner.share.
	shares map[string]*share
	// turn counts the slots that were passed on, and the shares that were created.
	turn uint64
}

// share is the state that the deliveries of one owner, or of all ServiceAccounts of one namespace, to one host
// share. No owner can open the circuit breaker of another one, because an owner can choose a path that fails at a host that
// serves. Pushes.mu guards it.
type share struct {
	// users counts the deliveries, and inFlight counts the requests.
	users, inFlight int
	// turn is the turn of the host at which the share got its last slot.
	turn uint64
	// failures counts the failed requests since the last one that succeeded.
	failures int
	// openUntil is the time at which the circuit breaker becomes half-open.
	openUntil time.Time
}

// useHost sets the host and the share of a delivery, and counts the delivery as one more user.
// Its owner is set. mu is held.
func (p *Pushes) useHost(d *delivery) {
	to := endpointOf(d.Config.URL)
	d.host = p.hosts[to]
	if d.host == nil {
		d.host = &host{endpoint: to, shares: map[string]*share{}}
		p.hosts[to] = d.host
	}
	d.share = d.host.shares[d.owner.share]
	if d.share == nil {
		d.host.turn++
		d.share = &share{turn: d.host.turn} // a new owner does not pass those that wait
		d.host.shares[d.owner.share] = d.share
	}
	d.share.users++
}

// releaseHost ends the use of a host by a delivery. mu is held.
func (p *Pushes) releaseHost(d *delivery) {
	h := d.host
	h.waiting = slices.DeleteFunc(h.waiting, func(other *delivery) bool { return other == d })
	d.share.users--
	if d.share.users == 0 {
		delete(h.shares, d.owner.share)
	}
	if len(h.shares) == 0 {
		delete(p.hosts, h.endpoint)
	}
}

// endpointOf returns the endpoint of a URL. Spellings of the same host and port have the same
// endpoint.
func endpointOf(raw string) endpoint {
	u, err := url.Parse(raw)
	if err != nil {
		return endpoint{}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return endpoint{scheme: u.Scheme, address: net.JoinHostPort(name, port)}
}

// permission is the decision of the concurrency limiter of a host and the circuit breaker of an
// owner about a request.
type permission struct {
	// waits is true if the delivery waits for a slot. It is ready again once a slot is free.
	waits bool
	// openFor is the time after which the delivery may ask again, because the circuit breaker
	// is open, or half-open with another request in flight; otherwise 0.
	openFor time.Duration
}

// allow takes a slot of the host for a request of a delivery and returns the zero value, or
// returns why the request must wait.
func (p *Pushes) allow(d *delivery) permission {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := d.share
	others := s.inFlight
	if d.hasSlot {
		others--
	}
	if s.failures >= tripAfter {
		if wait := s.openUntil.Sub(p.options.Now()); wait > 0 {
			return permission{openFor: wait}
		}
		if others > 0 {
			return permission{openFor: cooldown / 10}
		}
	}
	switch {
	case d.hasSlot:
	case d.dropped || d.host.inFlight < p.options.PerHost:
		p.takeSlot(d)
	default:
		p.awaitSlot(d)
		return permission{waits: true}
	}
	return permission{}
}

// awaitSlot makes a delivery wait for a slot of its host. The delivery goes to the end of the
// queue, and releases its memory. A delivery that passed a slot on because it had no memory
// goes to the front instead, and keeps its memory: it would otherwise rarely have a slot and
// memory at the same time. At most PerHost deliveries of a host wait at the front, which
// bounds the memory that waiting deliveries hold. mu is held.
func (p *Pushes) awaitSlot(d *delivery) {
	p.setState(d, waiting)
	d.logChanged = false
	queue := &d.host.waiting
	front := 0
	for front < len(*queue) && (*queue)[front].passed {
		front++
	}
	if d.passed && front < p.options.PerHost {
		*queue = slices.Insert(*queue, front, d)
		return
	}
	d.charge.Release()
	*queue = append(*queue, d)
}

// record updates the circuit breaker of an owner at a host after a request.
func (p *Pushes) record(s *share, healthy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if healthy {
		s.failures = 0
		return
	}
	s.failures++
	if s.failures >= tripAfter {
		s.openUntil = p.options.Now().Add(cooldown)
	}
}
