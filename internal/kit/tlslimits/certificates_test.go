// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tlslimits_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

// issue returns a certificate that its own key has signed.
func issue(t *testing.T, key crypto.Signer, template x509.Certificate) []byte {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	template.NotAfter = time.Now().Add(time.Hour)
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// manyURIs returns URIs that need many times their length.
func manyURIs(count int) []*url.URL {
	uris := make([]*url.URL, count)
	for i := range uris {
		uris[i] = &url.URL{Scheme: "a", Opaque: "b"}
	}
	return uris
}

// TestCost measures the memory of certificates of each kind, and fails if Cost returns less.
func TestCost(t *testing.T) {
	key := newKey(t)
	names := pkix.Name{}
	for i := range 300 {
		names.ExtraNames = append(names.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, i}, Value: "a"})
	}
	var extensions []pkix.Extension
	var usages []asn1.ObjectIdentifier
	var policies []x509.OID
	for i := range 300 {
		extensions = append(extensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, i}, Value: []byte{}})
		usages = append(usages, asn1.ObjectIdentifier{1, 2, i})
		policy, err := x509.OIDFromInts([]uint64{1, 2, uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, policy)
	}
	long := asn1.ObjectIdentifier{1, 2}
	for range 4000 {
		long = append(long, 1)
	}
	for name, template := range map[string]x509.Certificate{
		"plain":          {},
		"URIs":           {URIs: manyURIs(300)},
		"DNS names":      {DNSNames: strings.Split(strings.Repeat("a,", 299)+"a", ",")},
		"names":          {Subject: names},
		"extensions":     {ExtraExtensions: extensions},
		"usages":         {UnknownExtKeyUsage: usages},
		"policies":       {Policies: policies},
		"long usages":    {UnknownExtKeyUsage: []asn1.ObjectIdentifier{long}},
		"long extension": {ExtraExtensions: []pkix.Extension{{Id: long, Value: []byte{}}}},
		"constraints":    {PermittedDNSDomains: strings.Split(strings.Repeat("a,", 299)+"a", ","), BasicConstraintsValid: true, IsCA: true},
		"a long field":   {OCSPServer: []string{strings.Repeat("x", 8<<10)}},
	} {
		t.Run(name, func(t *testing.T) {
			const copies = 100
			raw := issue(t, key, template)
			all := make([]*x509.Certificate, copies)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range all {
				certificate, err := x509.ParseCertificate(raw)
				if err != nil {
					t.Fatal(err)
				}
				all[i] = certificate
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / copies
			t.Logf("%d bytes, of %d", each, len(raw))
			if counted := tlslimits.Cost(all[:1]); each > counted {
				t.Errorf("a certificate uses %d bytes, and counts %d", each, counted)
			}
		})
	}
}
