// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardverify

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

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
