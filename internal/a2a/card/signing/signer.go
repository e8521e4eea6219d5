// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Path is the URL path at which the sidecar serves the public keys.
const Path = "/.well-known/jwks.json"

// Signer signs cards with one or more keys. During a rotation it has the old and the new
// key, so that verifiers that have one of them accept the card.
type Signer struct {
	signers []jose.Signer
	keys    jose.JSONWebKeySet
}

// NewSigner returns a signer with the keys, the preferred one first. jwksURL is the URL
// of the public keys, and each signature contains it. If jwksURL is "", signatures
// contain no URL.
func NewSigner(keys []*Key, jwksURL string) (*Signer, error) {
	s := &Signer{keys: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}}
	options := (&jose.SignerOptions{}).WithType("JOSE")
	if jwksURL != "" {
		options = options.WithHeader("jku", jwksURL)
	}
	for _, k := range keys {
		if len(s.keys.Key(k.public.KeyID)) > 0 {
			continue
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.Algs()[0], Key: k}, options)
		if err != nil {
			return nil, fmt.Errorf("use key %q: %w", k.public.KeyID, err)
		}
		s.signers = append(s.signers, signer)
		s.keys.Keys = append(s.keys.Keys, k.public)
	}
	return s, nil
}

// Sign returns the signatures of a card: one for each key and each text of
// card.SignedTexts.
func (s *Signer) Sign(c *card.Card) ([]card.Signature, error) {
	readings, err := card.SignedTexts(c)
	if err != nil {
		return nil, err
	}
	var signatures []card.Signature
	for _, signer := range s.signers {
		for _, reading := range readings {
			signed, err := signer.Sign(reading)
			if err != nil {
				return nil, fmt.Errorf("sign card: %w", err)
			}
			text, err := signed.DetachedCompactSerialize()
			if err != nil {
				return nil, fmt.Errorf("sign card: %w", err)
			}
			protected, signature, _ := strings.Cut(text, "..")
			signatures = append(signatures, card.Signature{Protected: protected, Signature: signature})
		}
	}
	return signatures, nil
}

// JWKS returns the public keys as a JWK set (RFC 7517).
func (s *Signer) JWKS() ([]byte, error) { return json.Marshal(s.keys) }

// KeyIDs returns the ids of the keys, the preferred one first.
func (s *Signer) KeyIDs() []string {
	ids := make([]string, len(s.keys.Keys))
	for i := range s.keys.Keys {
		ids[i] = s.keys.Keys[i].KeyID
	}
	return ids
}
