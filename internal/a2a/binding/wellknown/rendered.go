// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"sync"
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
	// resources has the protected resource metadata of each base. It is nil if there is none.
	resources []*variant
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
	for _, b := range c.Bases {
		if c.Resource == nil {
			break
		}
		text, err := c.Resource.at(b.URL)
		if err != nil {
			return nil, err
		}
		out.resources = append(out.resources, newVariant(text))
	}
	return out, nil
}

// follow sets r.modified, the time of the last change of the content. former is the content
// that was served before, nil for the first content. If r has the same content as former,
// the time is that of former. Otherwise, the time is written, the time at which the content
// was written, if it is later than the time of former and not in the future. If written
// cannot be used, the time is now, or one second after the time of former if now is not
// later.
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

// same reports whether two contents have the same profile, bases, public card and keys.
func (r *rendered) same(other *rendered) bool {
	equal := func(a, b *variant) bool { return a == b || a != nil && b != nil && a.etag == b.etag }
	a := r.public.first
	b := other.public.first
	return r.profile == other.profile && equal(a.forms[card.FormUnion], b.forms[card.FormUnion]) &&
		equal(r.keys, other.keys) && slices.Equal(r.bases.all, other.bases.all)
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
	// Resource is the content of the protected resource metadata, without the member resource. Nil serves none.
	Resource *Resource
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
// arrive without TLS, and a client of https must not get URLs with http.
//
// Proxies may omit the port of a Host. If a Host without a port is not the host of any
// base, it therefore selects the base with this host name and any port.
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

// index adds hosts that are not in the index yet. If secure is true, it adds the hosts of
// the bases with https, and otherwise those of the bases with http.
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

// Limits of the views that are cached in addition to the first view. A dropped view is
// rendered again when it is requested.
const (
	maxViews     = 64
	maxViewBytes = 4 << 20
)

// views are the public or the extended cards of an agent: one for each base and each
// set of visible skills. A view is rendered when it is first requested, and signed
// once for all its forms.
type views struct {
	card   *card.Card
	signer *signing.Signer
	bases  []card.Base
	// first is the most requested view: the primary base with all skills. It is never
	// dropped, and does not change once the views are served.
	first *view

	// mu guards made, its views and bytes. made has the cached views except first.
	mu   sync.Mutex
	made map[viewKey]*view
	// bytes is the size of all forms in made.
	bytes int
}

// viewKey identifies a view by the index of the base and by the visible skills. skills has
// one byte for each skill, and is "" if all skills are visible.
type viewKey struct {
	base   int
	skills string
}

// view is a card at one base, with the forms that were requested.
type view struct {
	card       *card.Card
	signatures []card.Signature
	forms      [card.Forms]*variant
}

// newViews renders the first view in the forms.
func newViews(c *card.Card, bases []card.Base, signer *signing.Signer, forms ...card.Form) (*views, error) {
	v := &views{card: c, signer: signer, bases: bases, made: map[viewKey]*view{}}
	var err error
	if v.first, err = v.newView(c, 0); err != nil {
		return nil, err
	}
	for _, form := range forms {
		if _, err := v.first.render(form); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *views) newView(c *card.Card, base int) (*view, error) {
	if base < len(v.bases) {
		c = c.At(v.bases[base])
	}
	made := &view{card: c}
	if v.signer == nil {
		return made, nil
	}
	var err error
	made.signatures, err = v.signer.Sign(c)
	return made, err
}

func (v *view) render(form card.Form) (*variant, error) {
	if made := v.forms[form]; made != nil {
		return made, nil
	}
	body, err := card.Render(v.card, form, v.signatures...)
	if err != nil {
		return nil, err
	}
	v.forms[form] = newVariant(body)
	return v.forms[form], nil
}

// of returns the card of a base in a form, with the skills for which shown returns true. If
// shown is nil, the card has all skills. It is safe for concurrent use.
func (v *views) of(base int, shown func(*card.Skill) bool, form card.Form) (*variant, error) {
	c, skills := v.with(shown)
	if base == 0 && skills == "" && v.first.forms[form] != nil {
		return v.first.forms[form], nil
	}
	// Requests for a view that is being rendered wait for the lock.
	v.mu.Lock()
	defer v.mu.Unlock()
	key := viewKey{base, skills}
	found := v.made[key]
	if found == nil {
		var err error
		if found, err = v.newView(c, base); err != nil {
			return nil, err
		}
	} else if found.forms[form] != nil {
		return found.forms[form], nil
	}
	out, err := found.render(form)
	if err != nil {
		return nil, err
	}
	if len(v.made) >= maxViews || v.bytes+len(out.body) > maxViewBytes {
		clear(v.made)
		v.bytes = 0
		for _, kept := range found.forms {
			if kept != nil && kept != out {
				v.bytes += len(kept.body)
			}
		}
	}
	v.made[key] = found
	v.bytes += len(out.body)
	return out, nil
}

// with returns the card with the visible skills, and the value of skills in its viewKey.
func (v *views) with(shown func(*card.Skill) bool) (c *card.Card, skills string) {
	if shown == nil {
		return v.card, ""
	}
	part := *v.card
	part.Skills = nil
	key := make([]byte, len(v.card.Skills))
	for i := range v.card.Skills {
		if shown(&v.card.Skills[i]) {
			part.Skills = append(part.Skills, v.card.Skills[i])
			key[i] = 1
		}
	}
	if !slices.Contains(key, 0) {
		return v.card, ""
	}
	return &part, string(key)
}

type variant struct {
	body []byte
	etag string
}

func newVariant(body []byte) *variant {
	sum := sha256.Sum256(body)
	return &variant{body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}
