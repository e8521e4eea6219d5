// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// MaxSignatures bounds the signatures that Verify accepts. Sign makes at most seven for each
// of two keys.
const MaxSignatures = 16

// algorithms are those of keys that ParseKey accepts.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.RS256}

// Verify returns nil if each signature is one of Sign over this card, by a key of a JWK set.
// It proves that the signatures belong to the card and the keys, and not that a verifier
// trusts the keys.
func Verify(c *card.Card, signatures []card.Signature, jwks []byte) error {
	if n := len(signatures); n == 0 || n > MaxSignatures {
		return fmt.Errorf("card has %d signatures, must have 1 to %d", n, MaxSignatures)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(jwks, &keys); err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	readings, err := card.SignedTexts(c)
	if err != nil {
		return fmt.Errorf("read card: %w", err)
	}
	for i, s := range signatures {
		// Sign makes them in the order of the readings.
		if !verifiesAny(s, readings[i%len(readings):], &keys) && !verifiesAny(s, readings[:i%len(readings)], &keys) {
			return errNotOfCard
		}
	}
	return nil
}

var errNotOfCard = errors.New("a signature is not over this card, or not by one of the keys")

func verifiesAny(s card.Signature, readings [][]byte, keys *jose.JSONWebKeySet) bool {
	for _, reading := range readings {
		if verifies(s, reading, keys) {
			return true
		}
	}
	return false
}

func verifies(s card.Signature, reading []byte, keys *jose.JSONWebKeySet) bool {
	jws, err := jose.ParseSignedCompact(s.Protected+"."+base64.RawURLEncoding.EncodeToString(reading)+"."+s.Signature, algorithms)
	if err != nil || len(jws.Signatures) != 1 {
		return false
	}
	header := jws.Signatures[0].Header
	for _, key := range keys.Key(header.KeyID) {
		if !key.IsPublic() || key.Algorithm != header.Algorithm {
			continue
		}
		if _, err := jws.Verify(key.Key); err == nil {
			return true
		}
	}
	return false
}
