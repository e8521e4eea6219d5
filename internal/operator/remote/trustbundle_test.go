// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

// authority returns a self-signed CA certificate, parsed and as PEM.
func authority(t *testing.T, name string) (*x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTrustBundleReloadsItsFile(t *testing.T) {
	var logged []string
	log := funcr.New(func(_, text string) { logged = append(logged, text) }, funcr.Options{})
	company, companyPEM := authority(t, "company")
	plant, plantPEM := authority(t, "plant")
	file := filepath.Join(t.TempDir(), "ca.crt")
	write(t, file, companyPEM)
	a, err := LoadTrustBundle(file, log)
	if err != nil {
		t.Fatal(err)
	}
	trusts := func(when string, authorities ...*x509.Certificate) {
		t.Helper()
		want, err := x509.SystemCertPool()
		if err != nil {
			want = x509.NewCertPool()
		}
		for _, c := range authorities {
			want.AddCert(c)
		}
		for range 3 {
			if !a.Roots().Equal(want) {
				t.Fatalf("%s: Roots() are not those of the system and %d more", when, len(authorities))
			}
		}
	}
	trusts("first", company)
	if len(logged) != 0 {
		t.Errorf("logged %q at the start", logged)
	}
	write(t, file, slices.Concat(companyPEM, plantPEM))
	trusts("after another was added", company, plant)
	write(t, file, []byte("nonsense"))
	trusts("after it was broken", company, plant)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	trusts("after it went away", company, plant)
	write(t, file, plantPEM)
	trusts("after one was replaced", plant)
	if len(logged) != 4 || !strings.Contains(logged[1], "no PEM certificate") || !strings.Contains(logged[1], file) || !strings.Contains(logged[2], "no such file") {
		t.Errorf("logged %d times: %q, want a reload, two errors and a reload", len(logged), logged)
	}
}

func TestLoadTrustBundleFails(t *testing.T) {
	_, whole := authority(t, "company")
	tests := map[string]struct {
		text    []byte
		message string
	}{
		"no file":        {nil, "no such file"},
		"an empty one":   {[]byte{}, "no PEM certificate"},
		"a key":          {[]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "only certificates"},
		"a broken one":   {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "certificate 1"},
		"an endless one": {slices.Repeat(whole, maxBundle/len(whole)+1), "larger than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ca.crt")
			if test.text != nil {
				write(t, file, test.text)
			}
			if _, err := LoadTrustBundle(file, funcr.New(func(string, string) {}, funcr.Options{})); err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("LoadTrustBundle() error = %v, want one with %q", err, test.message)
			}
		})
	}
}
