// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ParseAuthorities parses a bundle of PEM certificates. It returns an error if the bundle
// has no certificate, or has a PEM block of another type.
func ParseAuthorities(bundle []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	found := 0
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("contains a PEM block %q, and only certificates are allowed", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", found+1, err)
		}
		pool.AddCert(c)
		found++
	}
	if found == 0 {
		return nil, errors.New("contains no PEM certificate")
	}
	return pool, nil
}
