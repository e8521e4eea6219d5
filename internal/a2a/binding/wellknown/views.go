// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
)

// maxViews bounds the views that are kept. Rules tell groups of callers apart,
// and not each from each.
const maxViews = 64

// views are the extended cards of one agent: callers see the skills that they
// may use.
type views struct {
	card   *card.Card
	signer *signing.Signer
	// whole is for those who may use all.
	whole map[card.Form]*variant

	mu sync.Mutex
	// parts are by the skills that they show, one byte each.
	parts map[string]map[card.Form]*variant
}

func newViews(c *card.Card, signer *signing.Signer) (*views, error) {
	v := &views{card: c, signer: signer, parts: map[string]map[card.Form]*variant{}}
	var err error
	v.whole, err = v.render(c)
	return v, err
}

// render leaves out the union: there are clients that take what they asked for
// only.
func (v *views) render(c *card.Card) (map[card.Form]*variant, error) {
	return renderForms(c, v.signer, card.FormV03, card.FormV03Proto, card.FormV10)
}

// of returns the view of a caller who is shown some skills; nil is all.
func (v *views) of(shown func(*card.Skill) bool, form card.Form) (*variant, error) {
	if shown == nil {
		return v.whole[form], nil
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
		return v.whole[form], nil
	}
	// Who asks for one that is being made waits for it.
	v.mu.Lock()
	defer v.mu.Unlock()
	if made, ok := v.parts[string(key)]; ok {
		return made[form], nil
	}
	made, err := v.render(&part)
	if err != nil {
		return nil, err
	}
	if len(v.parts) >= maxViews {
		clear(v.parts)
	}
	v.parts[string(key)] = made
	return made[form], nil
}
