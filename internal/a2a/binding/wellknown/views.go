// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
)

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

// with returns the card with the visible skills, and the skills of its viewKey.
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
