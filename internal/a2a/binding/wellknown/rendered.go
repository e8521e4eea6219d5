// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
)

// rendered is a card with all values derived from it. A request uses one rendered, so that
// it never combines parts of two cards.
type rendered struct {
	profile card.Profile
	bases   *bases
	// modified is the time at which the content last changed, in whole seconds.
	modified time.Time
	public   *views
	// keys is nil if the card is not signed.
	keys *variant
	// extended is nil if there is no extended card.
	extended *views
}

func render(c Content) (*rendered, error) {
	out := &rendered{profile: c.Profile, bases: newBases(c.Bases)}
	var err error
	if out.public, err = newViews(c.Card, c.Bases, c.Signer, card.FormUnion, card.FormV10); err != nil {
		return nil, err
	}
	if c.Card.Capabilities.ExtendedCard {
		// The extended card has no union form, because some clients accept only the form
		// that they requested.
		if out.extended, err = newViews(c.Card.Extended(), c.Bases, c.Signer, card.FormV03, card.FormV03Proto, card.FormV10); err != nil {
			return nil, err
		}
	}
	if c.Signer != nil {
		keys, err := c.Signer.JWKS()
		if err != nil {
			return nil, err
		}
		out.keys = newVariant(keys)
	}
	return out, nil
}

// follow sets the modification time. If the content equals the former content, it stays the
// former time. Otherwise, it is the time at which the content was written. If that time is
// unknown, in the future or not later than the former time, it is now, and at least one
// second later than the former time.
func (r *rendered) follow(former *rendered, written, now time.Time) {
	r.modified = written.Truncate(time.Second)
	switch {
	case former == nil:
		if r.modified.IsZero() || r.modified.After(now) {
			r.modified = now.Truncate(time.Second)
		}
	case r.same(former):
		r.modified = former.modified
	case !r.modified.After(former.modified) || r.modified.After(now):
		r.modified = now.Truncate(time.Second)
		if !r.modified.After(former.modified) {
			r.modified = former.modified.Add(time.Second)
		}
	}
}

// same reports whether two contents have the same public cards and keys.
func (r *rendered) same(other *rendered) bool {
	equal := func(a, b *variant) bool { return a == b || a != nil && b != nil && a.etag == b.etag }
	a, b := r.public.first, other.public.first
	if r.profile != other.profile || !equal(a.forms[card.FormUnion], b.forms[card.FormUnion]) || !equal(r.keys, other.keys) || len(r.bases.all) != len(other.bases.all) {
		return false
	}
	for i := range r.bases.all {
		if r.bases.all[i] != other.bases.all[i] {
			return false
		}
	}
	return true
}

// Content is a card and the settings with which it is served.
type Content struct {
	Card *card.Card
	// Bases are the base URLs of the agent, the primary one first. A request to the host of
	// a base gets the card with the interfaces of this base. Any other request gets the
	// card with the interfaces of the primary base. Without bases, the card is served
	// unchanged.
	Bases []card.Base
	// Profile determines the form of the card at each path.
	Profile card.Profile
	// Signer signs the card. If it is nil, the card is not signed.
	Signer *signing.Signer
	// Modified is the time at which the content was written. The zero time means now.
	Modified time.Time
}

// bases selects the base of a request. The URLs on a card come from a configured base,
// which the request selects, and never from the request.
type bases struct {
	all []card.Base
	// byHost maps the Host of a request to an index into all.
	byHost map[string]int
}

// newBases indexes bases by their hosts. If several bases have the same host, it uses the
// first one with https, or else the first one. The scheme of a request is irrelevant:
// behind a Gateway or load balancer that terminates TLS, requests to https and to http both
// arrive without TLS, and a client of https must not get URLs with http. A Host without a
// port that is not the host of a base selects the base with this host name and any port,
// because proxies omit the port.
func newBases(all []card.Base) *bases {
	b := &bases{all: all, byHost: map[string]int{}}
	for _, secure := range []bool{true, false} {
		b.index(secure, card.Base.Hosts)
	}
	for _, secure := range []bool{true, false} {
		b.index(secure, card.Base.HostNames)
	}
	return b
}

// index adds the hosts of the bases with https, or of those without, that are not in the
// index yet.
func (b *bases) index(secure bool, hosts func(card.Base) []string) {
	for i, base := range b.all {
		if base.Secure() != secure {
			continue
		}
		for _, host := range hosts(base) {
			if _, known := b.byHost[host]; !known {
				b.byHost[host] = i
			}
		}
	}
}

// of returns the index of the base whose host a request names. For any other host it
// returns 0, the primary base.
func (b *bases) of(r *http.Request) int { return b.byHost[card.NormalizeHost(r.Host)] }
