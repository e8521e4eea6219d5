// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
)

// rendered is a card with all that depends on it, so that a request sees one
// card or the next and never some of both.
type rendered struct {
	profile    card.Profile
	union, v10 *variant
	// keys is nil when the card is not signed.
	keys *variant
	// extended is nil when there is no extended card.
	extended *views
}

type variant struct {
	body []byte
	etag string
}

func newVariant(body []byte) *variant {
	sum := sha256.Sum256(body)
	return &variant{body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

func render(c Content) (*rendered, error) {
	out := &rendered{profile: c.Profile}
	public, err := renderForms(c.Card, c.Signer, card.FormUnion, card.FormV10)
	if err != nil {
		return nil, err
	}
	out.union, out.v10 = public[card.FormUnion], public[card.FormV10]
	if c.Card.Capabilities.ExtendedCard {
		if out.extended, err = newViews(c.Card.Extended(), c.Signer); err != nil {
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

func renderForms(c *card.Card, signer *signing.Signer, forms ...card.Form) (map[card.Form]*variant, error) {
	var signatures []card.Signature
	if signer != nil {
		var err error
		if signatures, err = signer.Sign(c); err != nil {
			return nil, err
		}
	}
	out := map[card.Form]*variant{}
	for _, form := range forms {
		body, err := card.Render(c, form, signatures...)
		if err != nil {
			return nil, err
		}
		out[form] = newVariant(body)
	}
	return out, nil
}
