// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenkeys

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

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
