// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// MaxSignatures is the maximum number of signatures that Verify accepts. Sign makes at
// most seven signatures with each of two keys.
const MaxSignatures = 16

const (
	// maxKeys is the maximum number of keys that Verify accepts: the present and the
	// previous key.
	maxKeys = 2
	// maxKeyBits is the maximum length of an RSA key. It is bounded, because the time of a
	// verification grows with the square of the length.
	maxKeyBits = 16384
)

// algorithms are the algorithms of the keys that ParseKey accepts.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.RS256}

// Verify returns nil if the signatures are ones that Sign makes for the card with keys of
// a JWK set. It proves that the signatures belong to the card and the keys, and not that
// a verifier trusts the keys. The signatures must be in the order of Sign. The set has at
// most two keys, with different ids, so that Verify checks each signature once.
func Verify(c *card.Card, signatures []card.Signature, jwks []byte) error {
	if n := len(signatures); n == 0 || n > MaxSignatures {
		return fmt.Errorf("card has %d signatures, must have 1 to %d", n, MaxSignatures)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(jwks, &keys); err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	if err := checkKeys(keys.Keys); err != nil {
		return err
	}
	readings, err := card.SignedTexts(c)
	if err != nil {
		return fmt.Errorf("read card: %w", err)
	}
	for i, s := range signatures {
		if !verifies(s, readings[i%len(readings)], &keys) {
			return errNotOfCard
		}
	}
	return nil
}

// checkKeys returns an error for keys that would make the verification of a signature
// costly: more than maxKeys keys, equal ids, or RSA keys longer than maxKeyBits.
func checkKeys(keys []jose.JSONWebKey) error {
	if n := len(keys); n > maxKeys {
		return fmt.Errorf("key set has %d keys, must have at most %d", n, maxKeys)
	}
	for i := range keys {
		if i > 0 && keys[i].KeyID == keys[0].KeyID {
			return fmt.Errorf("key set has the id %q twice", keys[i].KeyID)
		}
		if k, ok := keys[i].Key.(*rsa.PublicKey); ok && k.N.BitLen() > maxKeyBits {
			return fmt.Errorf("key %q has %d bits, must have at most %d", keys[i].KeyID, k.N.BitLen(), maxKeyBits)
		}
	}
	return nil
}

var errNotOfCard = errors.New("a signature is not over this card, or not by one of the keys")

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
