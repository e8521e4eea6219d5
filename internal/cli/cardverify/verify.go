// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cardverify verifies the signatures of a card (A2A 1.0, section 8.4.3; ADR 0012) by public
// keys. It does not decide which keys to trust.
package cardverify

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

const (
	// maxSignatures bounds the signatures that are read.
	maxSignatures = 32
	// maxKeys bounds the keys of a set.
	maxKeys = 100
	// maxKeyBits bounds an RSA key, because the time of a verification grows with its square.
	maxKeyBits = 16384
)

// algorithms are the accepted signature algorithms: those with a public key, and not those with a shared secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// Header is the protected header of a signature.
type Header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	// JWKSURL is the address of the key set (jku), "" for none.
	JWKSURL string `json:"jku"`
}

// Signature is a signature of a card.
type Signature struct {
	Header
	card.Signature
}

// Match describes a valid signature.
type Match struct {
	Header
	// Covers is the part of the card that the signature covers, in words.
	Covers string
}

// ErrNoKey is returned if no key has the id of a signature.
var ErrNoKey = errors.New("no key has the id of a signature")

// ErrInvalid is returned if a key exists for a signature, and no signature is valid for the card.
var ErrInvalid = errors.New("no signature matches the card: the card was changed after it was signed, or another key signed it")

// Signatures returns the first 32 signatures of a card whose protected headers are readable. It returns an error if the
// card has signatures but no readable header, and an empty list if the card has no signatures.
func Signatures(text []byte) ([]Signature, error) {
	var document struct {
		Signatures []card.Signature `json:"signatures"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read the signatures: %w", err)
	}
	all := make([]Signature, 0, min(len(document.Signatures), maxSignatures))
	for _, each := range document.Signatures {
		s := Signature{Signature: each}
		header, err := base64.RawURLEncoding.DecodeString(each.Protected)
		if err == nil && json.Unmarshal(header, &s.Header) == nil && len(all) < maxSignatures {
			all = append(all, s)
		}
	}
	if len(all) == 0 && len(document.Signatures) > 0 {
		return nil, errors.New("the protected headers of the signatures are not valid JWS headers")
	}
	return all, nil
}

// ParseKeys reads public keys: a JWK set, a JWK, or PEM.
func ParseKeys(text []byte) (*jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	if json.Unmarshal(text, &set) != nil || len(set.Keys) == 0 {
		key, err := parseKey(text)
		if err != nil {
			return nil, err
		}
		set.Keys = []jose.JSONWebKey{*key}
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has more than %d keys", maxKeys)
	}
	for i := range set.Keys {
		if k, ok := set.Keys[i].Key.(*rsa.PublicKey); ok && k.N.BitLen() > maxKeyBits {
			return nil, fmt.Errorf("an RSA key has more than %d bits", maxKeyBits)
		}
		if !set.Keys[i].IsPublic() {
			return nil, errors.New("the key set includes a key that is not public")
		}
	}
	return &set, nil
}

// Verify returns the first signature that a key of the set verifies. A key with an id verifies only signatures with
// this id. A key without an id verifies all signatures. If no signature is valid, Verify returns ErrInvalid, or ErrNoKey if
// the set has no key for any signature.
func Verify(text []byte, parsed *card.Card, signatures []Signature, keys *jose.JSONWebKeySet) (*Match, error) {
	candidates, err := readings(text, parsed)
	if err != nil {
		return nil, err
	}
	result := ErrNoKey
	for _, reading := range candidates {
		for _, s := range signatures {
			i := slices.IndexFunc(keys.Keys, func(k jose.JSONWebKey) bool { return k.KeyID == "" || k.KeyID == s.KeyID })
			if i < 0 {
				continue
			}
			result = ErrInvalid
			for _, key := range keys.Keys[i:] {
				if (key.KeyID == "" || key.KeyID == s.KeyID) && isValid(&s, reading.text, &key) {
					return &Match{Header: s.Header, Covers: reading.covers}, nil
				}
			}
		}
	}
	return nil, result
}

// reading is a form of the card over which a signer may have computed the signature.
type reading struct {
	text   []byte
	covers string
}

// readings returns the forms of a card that signers sign: the whole card, the card without empty members, and the
// members that the card's version defines. All are canonical JSON without the signatures.
func readings(text []byte, parsed *card.Card) ([]reading, error) {
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("read the card: %w", err)
	}
	// Canonicalize refuses duplicate names: programs that read the card could use different values.
	if whole := jsontext.Value(slices.Clone(text)); whole.Canonicalize() != nil {
		return nil, errors.New("the card has no canonical form: a name occurs twice, or a text is not UTF-8")
	}
	delete(members, "signatures")
	var all []reading
	add := func(value any, covers string) error {
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode the card: %w", err)
		}
		canonical := jsontext.Value(encoded)
		if err := canonical.Canonicalize(); err != nil {
			return fmt.Errorf("encode the card: %w", err)
		}
		all = append(all, reading{canonical, covers})
		return nil
	}
	if err := errors.Join(add(members, "the whole card"), add(withoutEmpty(members), "the whole card, except for empty members")); err != nil {
		return nil, err
	}
	texts, err := card.SignedTexts(parsed)
	if err != nil {
		return nil, fmt.Errorf("read the card: %w", err)
	}
	for _, each := range texts {
		all = append(all, reading{each, "the members that the card's version defines"})
	}
	return all, nil
}

// withoutEmpty returns a value without empty texts, lists and objects, as some SDKs sign it.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if kept := withoutEmpty(member); kept != nil {
				out[name] = kept
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, element := range v {
			if kept := withoutEmpty(element); kept != nil {
				out = append(out, kept)
			}
		}
		if out == nil {
			return nil
		}
		return out
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}

// isValid reports whether a key verifies a signature of a text.
func isValid(s *Signature, text []byte, key *jose.JSONWebKey) bool {
	if key.Algorithm != "" && key.Algorithm != s.Algorithm {
		return false
	}
	jws, err := jose.ParseSignedCompact(s.Protected+"."+base64.RawURLEncoding.EncodeToString(text)+"."+s.Signature.Signature, algorithms)
	if err != nil {
		return false
	}
	_, err = jws.Verify(key.Key)
	return err == nil
}

// parseKey reads a public key from a JWK, or from PEM with a key or a certificate.
func parseKey(text []byte) (*jose.JSONWebKey, error) {
	var key jose.JSONWebKey
	if json.Unmarshal(text, &key) == nil && key.Key != nil {
		return &key, nil
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no public key: it must be PEM, a JWK or a JWK set")
	}
	if block.Type == "CERTIFICATE" {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		return &jose.JSONWebKey{Key: certificate.PublicKey}, nil
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	return &jose.JSONWebKey{Key: public}, nil
}
