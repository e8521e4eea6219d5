// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signing signs Agent Cards (A2A 1.0 section 8.4): a signature is a JWS (RFC
// 7515) over the text that a verifier derives from the card. The same keys sign push
// notifications.
//
// No error contains a private key.
package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

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

// NewSigner returns a signer with the keys, the preferred one first. It ignores a key
// that has the id of an earlier key. jwksURL is the URL of the public keys, and each
// signature contains it (jku). If jwksURL is "", signatures contain no URL.
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

// MaxSignatures is the maximum number of signatures that Verify accepts. Sign makes at
// most seven signatures with each of two keys.
const MaxSignatures = 16

const (
	// maxKeys is the maximum number of keys that Verify accepts: the present and the
	// previous key.
	maxKeys = 2
	// maxKeyBits is the maximum length of an RSA key that Verify accepts, in bits. The time
	// of a verification grows with the square of the length.
	maxKeyBits = 16384
)

// algorithms are the algorithms of the keys that ParseKey accepts.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.RS256}

// Verify returns nil if the keys of a JWK set verify all signatures of the card. It
// proves that the signatures belong to the card and the keys, and not that a verifier
// trusts the keys. The signatures must be in the order of Sign, because Verify checks
// each one over one text of card.SignedTexts only. The set has at most two keys, with
// different ids, so that Verify checks each signature once.
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

// minRSA is the minimum length of an RSA key in bits (RFC 7518).
const minRSA = 2048

// Key signs cards.
type Key struct {
	private crypto.Signer
	// public is the public key with its id and algorithm, as published in the JWK set.
	public jose.JSONWebKey
}

var _ jose.OpaqueSigner = (*Key)(nil)

// ParseKey reads a private key in PEM (PKCS #8, or the older formats for EC and RSA) or a
// JWK. The id of the key is the id in the JWK. Without one, it is the thumbprint of the
// public key (RFC 7638), which is unique.
func ParseKey(text []byte) (*Key, error) {
	private, id, err := parsePrivate(text)
	if err != nil {
		return nil, err
	}
	k := &Key{private: private, public: jose.JSONWebKey{Key: private.Public(), KeyID: id, Use: "sig"}}
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		switch private.Curve {
		case elliptic.P256():
			k.public.Algorithm = string(jose.ES256)
		case elliptic.P384():
			k.public.Algorithm = string(jose.ES384)
		default:
			return nil, errors.New("EC key must be on the curve P-256 or P-384")
		}
		if !whole(private) {
			return nil, errors.New("public key of the EC key belongs to another private key")
		}
	case ed25519.PrivateKey:
		k.public.Algorithm = string(jose.EdDSA)
	case *rsa.PrivateKey:
		if private.N.BitLen() < minRSA {
			return nil, fmt.Errorf("RSA key has %d bits, must have %d or more", private.N.BitLen(), minRSA)
		}
		k.public.Algorithm = string(jose.RS256)
	default:
		return nil, errors.New("key must be EC (P-256 or P-384), Ed25519 or RSA")
	}
	if k.public.KeyID == "" {
		thumbprint, err := k.public.Thumbprint(crypto.SHA256)
		if err != nil {
			return nil, errors.New("key has no thumbprint")
		}
		k.public.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	}
	return k, nil
}

// whole reports whether the public key belongs to the private key. A JWK contains both
// independently, and verifiers use the published public key.
func whole(k *ecdsa.PrivateKey) bool {
	private, err := k.ECDH()
	if err != nil {
		return false
	}
	public, err := k.PublicKey.ECDH()
	return err == nil && private.PublicKey().Equal(public)
}

// parsePrivate returns the key and its id, "" for none. It does not return the errors of
// parsers, because they may quote the text of the key.
func parsePrivate(text []byte) (crypto.Signer, string, error) {
	if block, _ := pem.Decode(text); block != nil {
		private, err := parseBlock(block)
		return private, "", err
	}
	var jwk jose.JSONWebKey
	if jwk.UnmarshalJSON(text) != nil {
		return nil, "", errors.New("file must have a PEM block or a JWK")
	}
	private, ok := jwk.Key.(crypto.Signer)
	if !ok || jwk.IsPublic() {
		return nil, "", errors.New("JWK must have a private key")
	}
	return private, jwk.KeyID, nil
}

func parseBlock(block *pem.Block) (crypto.Signer, error) {
	var parsed any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return nil, errors.New(`first PEM block must be "PRIVATE KEY", "EC PRIVATE KEY" or "RSA PRIVATE KEY", without a password`)
	}
	private, ok := parsed.(crypto.Signer)
	if err != nil || !ok {
		return nil, fmt.Errorf("PEM block %q must have a private key that can sign", block.Type)
	}
	return private, nil
}

// Token returns a JWT (RFC 7519) with the claims, a struct or a map.
func (k *Key) Token(claims any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.Algs()[0], Key: k}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("use key %q: %w", k.public.KeyID, err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return token, nil
}

// Public implements jose.OpaqueSigner.
func (k *Key) Public() *jose.JSONWebKey { return &k.public }

// Algs implements jose.OpaqueSigner.
func (k *Key) Algs() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.SignatureAlgorithm(k.public.Algorithm)}
}

// SignPayload implements jose.OpaqueSigner. Signatures of equal payloads are equal, for
// ECDSA by RFC 6979, so that all replicas of an agent serve the same bytes.
func (k *Key) SignPayload(payload []byte, algorithm jose.SignatureAlgorithm) ([]byte, error) {
	hash := crypto.SHA256
	switch algorithm { //nolint:exhaustive // the other algorithms that Algs returns use SHA-256
	case jose.EdDSA:
		return k.private.Sign(nil, payload, crypto.Hash(0))
	case jose.ES384:
		hash = crypto.SHA384
	}
	h := hash.New()
	h.Write(payload)
	signature, err := k.private.Sign(nil, h.Sum(nil), hash)
	ec, isEC := k.private.Public().(*ecdsa.PublicKey)
	if err != nil || !isEC {
		return signature, err
	}
	// The signature is the concatenation of the two numbers, which RFC 7518 section 3.4
	// requires instead of ASN.1.
	var numbers struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(signature, &numbers); err != nil {
		return nil, err
	}
	size := (ec.Params().BitSize + 7) / 8
	raw := make([]byte, 2*size)
	numbers.R.FillBytes(raw[:size])
	numbers.S.FillBytes(raw[size:])
	return raw, nil
}
