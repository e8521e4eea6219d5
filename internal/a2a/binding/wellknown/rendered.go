// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
)

// rendered is a card and everything derived from it, so that a request never sees
// parts of two cards.
type rendered struct {
	profile card.Profile
	bases   *bases
	// modified is when the content last changed, in whole seconds.
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
		// There is no union of the extended card: some clients accept only the form that
		// they requested.
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

// follow sets the modification time: that of the former content if both are equal,
// otherwise the time at which the content was written, or now if that time is unknown
// or not later than the former one.
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

// same reports whether two contents serve the same public cards and keys.
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

// Content is a card and how to serve it.
type Content struct {
	Card *card.Card
	// Bases are the base URLs of the agent, the primary one first. A request to the host
	// of a base gets the card with the interfaces of this base, any other request those
	// of the primary one. Without bases the card is served unchanged.
	Bases []card.Base
	// Profile determines the form of the card at each path.
	Profile card.Profile
	// Signer signs the card; nil leaves it unsigned.
	Signer *signing.Signer
	// Modified is when the content was written; the zero time means now.
	Modified time.Time
}
