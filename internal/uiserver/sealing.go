// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The files of the Secret.
const (
	// cookieKeyFile contains the secret from which the keys of cookies are derived.
	cookieKeyFile = "cookieKey"
	// clientSecretFile contains the client secret. The file is absent for a public client.
	clientSecretFile = "clientSecret"
)

// minCookieKey is the minimum length of the secret in cookieKeyFile, in bytes.
const minCookieKey = 32

var errCookieKey = fmt.Errorf("file %s of the Secret has fewer than %d bytes: create it by openssl rand -base64 48", cookieKeyFile, minCookieKey)

// errSealed is the error for a value that this server did not seal for this purpose.
var errSealed = errors.New("value is not sealed by this server")

// sealer encrypts and authenticates values (AES-256-GCM). It reads the key from the Secret for
// each value, so that a change of the Secret takes effect without a restart. The change ends all
// sessions.
type sealer struct{ directory string }

// cipherFor returns the cipher for a purpose. A value that was sealed for one purpose is invalid
// for another purpose.
func (s *sealer) cipherFor(purpose string) (cipher.AEAD, error) {
	secret, err := os.ReadFile(filepath.Join(s.directory, cookieKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the key of cookies: %w", err)
	}
	if secret = []byte(strings.TrimSpace(string(secret))); len(secret) < minCookieKey {
		return nil, errCookieKey
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "a2a-operator ui "+purpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return aead, nil
}

// seal returns an encrypted value as a text that a cookie can contain.
func (s *sealer) seal(purpose string, value any) (string, error) {
	aead, err := s.cipherFor(purpose)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, text, nil)), nil //nolint:gosec // NewGCMWithRandomNonce makes the nonce
}

// open decrypts a result of seal into a value. It returns errSealed for any other text.
func (s *sealer) open(purpose, sealed string, into any) error {
	aead, err := s.cipherFor(purpose)
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errSealed
	}
	text, err := aead.Open(nil, nil, raw, nil)
	if err != nil || json.Unmarshal(text, into) != nil {
		return errSealed
	}
	return nil
}
