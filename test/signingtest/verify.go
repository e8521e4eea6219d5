// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signingtest verifies the signatures of Agent Cards, as clients of each version
// do. Only tests import it, because the product does not verify cards of other agents.
package signingtest

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

// ErrInvalid is returned for a card without a valid signature of a trusted key.
var ErrInvalid = errors.New("no signature of the card is valid")

// algorithms are the asymmetric signature algorithms.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// Verify verifies a card as a client of the form's version does. One valid signature by a
// trusted key is enough. Otherwise the error is ErrUnsigned or ErrInvalid. It ignores the
// key URL in the card, because anyone can write a URL into a card.
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
	read, err := signedTexts(text, f)
	if err != nil {
		return err
	}
	for _, s := range signed.Signatures {
		for _, reading := range read {
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
