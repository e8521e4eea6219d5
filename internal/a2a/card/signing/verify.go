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

// MaxSignatures bounds the signatures that Verify accepts. Sign makes at most seven for each
// of two keys.
const MaxSignatures = 16

const (
	// maxKeys bounds the keys that Verify accepts: the present and the previous one.
	maxKeys = 2
	// maxKeyBits bounds an RSA key, because the time of a verification grows with its square.
	maxKeyBits = 16384
)

// algorithms are those of keys that ParseKey accepts.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.RS256}

// Verify returns nil if each signature is one of Sign over this card, by a key of a JWK set.
// The set has at most two keys, with different ids, so that Verify checks each signature
// once. The signatures are in the order of Sign.
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

// checkKeys returns an error for keys that would cost more than one verification of usual
// length for each signature.
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
