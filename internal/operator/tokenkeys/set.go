// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenkeys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// RotationPeriod is the least time between the creation of the next key and its first
	// signature. During this time, the key is only published. The first key of a Secret is the
	// exception: it signs at once.
	RotationPeriod = 30 * 24 * time.Hour
	// publicationTime is the least time for which the present leader publishes the next key
	// before that key signs. The leader does not rely on the previous leader, which may have
	// stopped between creating and publishing the key.
	publicationTime = time.Hour
	// formerTime is how long a key still verifies tokens after it has stopped signing. It is
	// longer than the lifetime of a token plus the time until all replicas have read a changed
	// Secret.
	formerTime = time.Hour
)

// algorithm is the algorithm of all signatures, ECDSA with P-256 and SHA-256 (RFC 7518).
const algorithm = jose.ES256

// Set has two keys: the key that signs and one other key. Usually, the other key is the next key,
// which is already published and signs after the next rotation. In the hour after a rotation, the
// other key is the former key, which verifies the tokens that it has signed. A Set is immutable.
type Set struct {
	signing privateKey
	// One of next and former is nil.
	next   *privateKey
	former *formerKey
	signer jose.Signer
	keySet json.RawMessage
}

// privateKey is a key that signs, or that will sign.
type privateKey struct {
	id      string
	created time.Time
	key     *ecdsa.PrivateKey
}

// formerKey is a key that does not sign any more.
type formerKey struct {
	id    string
	until time.Time
	key   *ecdsa.PublicKey
}

// Change is a kind of change of the Secret, which only the leader writes.
type Change string

// The changes.
const (
	// Created means that there was no Secret.
	Created Change = "created"
	// Replaced means that the content of the Secret was not usable.
	Replaced Change = "replaced"
	// Rotated means that the next key signs from now on. The set of published keys stays the
	// same.
	Rotated Change = "rotated"
	// Renewed means that the former key is withdrawn, and a new next key is published.
	Renewed Change = "renewed"
)

// Generate returns a set of new keys.
func Generate(now time.Time) (*Set, error) {
	signing, err := newKey(now)
	if err != nil {
		return nil, err
	}
	next, err := newKey(now)
	if err != nil {
		return nil, err
	}
	return newSet(signing, &next, nil)
}

func newSet(signing privateKey, next *privateKey, former *formerKey) (*Set, error) {
	s := &Set{signing: signing, next: next, former: former}
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", signing.id)
	var err error
	if s.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: signing.key}, options); err != nil {
		return nil, fmt.Errorf("make signer: %w", err)
	}
	if s.keySet, err = s.encodeKeySet(); err != nil {
		return nil, err
	}
	return s, nil
}

func newKey(now time.Time) (privateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return privateKey{}, fmt.Errorf("generate key: %w", err)
	}
	id, err := keyID(&key.PublicKey)
	return privateKey{id: id, created: now, key: key}, err
}

// keyID returns the thumbprint of a key (RFC 7638).
func keyID(key *ecdsa.PublicKey) (string, error) {
	sum, err := (&jose.JSONWebKey{Key: key}).Thumbprint(crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("name key: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sum), nil
}

// Sign returns a signed JWT with the claims.
func (s *Set) Sign(claims any) (string, error) {
	token, err := jwt.Signed(s.signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return token, nil
}

// KeySet returns the JWK set (RFC 7517) with the public keys of s, which verify tokens. A
// rotation does not change the JWK set.
func (s *Set) KeySet() json.RawMessage { return s.keySet }

func (s *Set) encodeKeySet() (json.RawMessage, error) {
	public := func(id string, key *ecdsa.PublicKey) jose.JSONWebKey {
		return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(algorithm), Use: "sig"}
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(s.signing.id, &s.signing.key.PublicKey)}}
	if s.next != nil {
		set.Keys = append(set.Keys, public(s.next.id, &s.next.key.PublicKey))
	}
	if s.former != nil {
		set.Keys = append(set.Keys, public(s.former.id, s.former.key))
	}
	slices.SortFunc(set.Keys, func(a, b jose.JSONWebKey) int { return strings.Compare(a.KeyID, b.KeyID) })
	text, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode key set: %w", err)
	}
	return text, nil
}

// advance returns the set that must replace s at the time now, and the kind of the change. It
// returns nil if no change is due. publishing is the time at which the leader began to publish
// keys.
//
// Published keys are in each sidecar configuration. A rotation does not change them. The renewal
// an hour later does. Each rotation and its renewal therefore change each sidecar configuration
// only once.
func (s *Set) advance(now, publishing time.Time) (*Set, Change, error) {
	switch {
	case s.former != nil && !now.Before(s.former.until):
		next, err := newKey(now)
		if err != nil {
			return nil, "", err
		}
		renewed, err := newSet(s.signing, &next, nil)
		return renewed, Renewed, err
	case s.next != nil && now.Sub(s.next.created) >= RotationPeriod && now.Sub(publishing) >= publicationTime:
		former := &formerKey{id: s.signing.id, until: now.Add(formerTime), key: &s.signing.key.PublicKey}
		rotated, err := newSet(*s.next, nil, former)
		return rotated, Rotated, err
	default:
		return nil, "", nil
	}
}

// encodedSet is the content of the Secret.
type encodedSet struct {
	Signing *encodedKey `json:"signing"`
	Next    *encodedKey `json:"next,omitempty"`
	Former  *encodedKey `json:"former,omitempty"`
}

// encodedKey is one key in the Secret.
type encodedKey struct {
	Created time.Time `json:"created,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// PKCS8 is a private key (RFC 5208), and PKIX a public key (RFC 5280), both in DER.
	PKCS8 []byte `json:"pkcs8,omitempty"`
	PKIX  []byte `json:"pkix,omitempty"`
}

// encode returns the content of the Secret.
func (s *Set) encode() ([]byte, error) {
	var set encodedSet
	var err error
	if set.Signing, err = encodePrivate(&s.signing); err != nil {
		return nil, err
	}
	if s.next != nil {
		if set.Next, err = encodePrivate(s.next); err != nil {
			return nil, err
		}
	}
	if s.former != nil {
		der, err := x509.MarshalPKIXPublicKey(s.former.key)
		if err != nil {
			return nil, fmt.Errorf("encode former key: %w", err)
		}
		set.Former = &encodedKey{Until: s.former.until, PKIX: der}
	}
	text, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode keys: %w", err)
	}
	return text, nil
}

func encodePrivate(k *privateKey) (*encodedKey, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return &encodedKey{Created: k.created, PKCS8: der}, nil
}

// decode decodes the content of the Secret. Its errors contain no part of a key.
func decode(text []byte) (*Set, error) {
	var set encodedSet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the content is not a JSON object of token keys")
	}
	if set.Signing == nil || (set.Next == nil) == (set.Former == nil) {
		return nil, errors.New("it must have the member signing, and one of next and former")
	}
	signing, err := decodePrivate(set.Signing)
	if err != nil {
		return nil, fmt.Errorf("member signing: %w", err)
	}
	var next *privateKey
	if set.Next != nil {
		if next, err = decodePrivate(set.Next); err != nil {
			return nil, fmt.Errorf("member next: %w", err)
		}
		if next.id == signing.id {
			return nil, errors.New("the members signing and next have the same key")
		}
	}
	var former *formerKey
	if set.Former != nil {
		if former, err = decodeFormer(set.Former); err != nil {
			return nil, fmt.Errorf("member former: %w", err)
		}
	}
	return newSet(*signing, next, former)
}

var errNoKey = errors.New("it is not a key of the curve P-256 with a time")

func decodePrivate(k *encodedKey) (*privateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(k.PKCS8)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || key.Curve != elliptic.P256() || k.Created.IsZero() {
		return nil, errNoKey
	}
	id, err := keyID(&key.PublicKey)
	return &privateKey{id: id, created: k.Created, key: key}, err
}

func decodeFormer(k *encodedKey) (*formerKey, error) {
	parsed, err := x509.ParsePKIXPublicKey(k.PKIX)
	key, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok || key.Curve != elliptic.P256() || k.Until.IsZero() {
		return nil, errNoKey
	}
	id, err := keyID(key)
	return &formerKey{id: id, until: k.Until, key: key}, err
}
