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

// ErrUnsigned is returned for a card without signatures.
var ErrUnsigned = errors.New("card has no signature")

// ErrInvalid is returned for a card none of whose signatures is of a known key
// over what the card says.
var ErrInvalid = errors.New("no signature of the card is valid")

// algorithms are those of a public key: none can be forged with what is public.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// Verify checks a card as a client of the form's version reads it. One valid
// signature is enough. The keys are those that the verifier trusts: what a
// card says of where its keys are proves nothing.
func Verify(text []byte, f card.Form, trusted jose.JSONWebKeySet) error {
	var signed struct {
		Signatures []card.Signature `json:"signatures"`
	}
	if err := json.Unmarshal(text, &signed); err != nil {
		return fmt.Errorf("read signatures: %w", err)
	}
	if len(signed.Signatures) == 0 {
		return ErrUnsigned
	}
	readings, err := card.ReadingsOf(text, f)
	if err != nil {
		return err
	}
	for _, s := range signed.Signatures {
		for _, reading := range readings {
			if verifies(s, reading, trusted) {
				return nil
			}
		}
	}
	return ErrInvalid
}

func verifies(s card.Signature, reading []byte, trusted jose.JSONWebKeySet) bool {
	payload := base64.RawURLEncoding.EncodeToString(reading)
	jws, err := jose.ParseSignedCompact(s.Protected+"."+payload+"."+s.Signature, algorithms)
	if err != nil || len(jws.Signatures) != 1 {
		return false
	}
	for _, key := range trusted.Key(jws.Signatures[0].Header.KeyID) {
		if key.Algorithm != "" && key.Algorithm != jws.Signatures[0].Header.Algorithm {
			continue
		}
		if _, err := jws.Verify(key); err == nil {
			return true
		}
	}
	return false
}
