// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// newCertificate issues a certificate for 127.0.0.1 and some DNS names by an
// authority of its own. It returns the directory with tls.crt and tls.key, and
// the file with the authority's certificate.
func newCertificate(t *testing.T, names ...string) (dir, authority string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "interop"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: from, NotAfter: to, SubjectKeyId: []byte{1},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, AuthorityKeyId: []byte{1},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: from, NotAfter: to,
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	check(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	dir = t.TempDir()
	authority = filepath.Join(dir, "authority.crt")
	for file, block := range map[string]*pem.Block{
		authority:                     {Type: "CERTIFICATE", Bytes: caDER},
		filepath.Join(dir, "tls.crt"): {Type: "CERTIFICATE", Bytes: der},
		filepath.Join(dir, "tls.key"): {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		check(os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return dir, authority
}

// certificatePool returns a pool of the certificates in a PEM file.
func certificatePool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("%s has no certificate", file)
	}
	return pool
}
