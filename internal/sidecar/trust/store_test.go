// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// newAuthority returns the certificate of a new authority, also in PEM.
func newAuthority(t *testing.T, name string) (*x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// For the registry, the authorities of the sidecar configuration replace the other
// authorities of the sidecar, unless they are additional.
func TestAdditionalAuthoritiesOfTheRegistry(t *testing.T) {
	own, ownPEM := newAuthority(t, "own")
	first, firstPEM := newAuthority(t, "first")
	other, _ := newAuthority(t, "other")
	for _, additional := range []bool{false, true} {
		s := &Store{}
		verified := func(authority *x509.Certificate) bool {
			_, err := authority.Verify(x509.VerifyOptions{Roots: s.rootsOf("registry.example:443"), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			return err == nil
		}
		registry, err := NewRegistry(&sidecarconfig.Gateway{
			RegistryURL: "https://registry.example", RegistryCA: string(firstPEM), RegistryCAAdditional: additional,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.SetRegistry(registry)
		if !verified(first) || verified(own) {
			t.Errorf("additional %t, without a bundle: the registry's authority or another one is confused", additional)
		}
		if err := s.SetBundle(ownPEM); err != nil {
			t.Fatal(err)
		}
		if !verified(first) || verified(own) != additional || verified(other) {
			t.Errorf("additional %t: a registry of the sidecar's own authority is verified: %t", additional, verified(own))
		}
	}
}
