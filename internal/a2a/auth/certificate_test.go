// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net/url"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// TestAmbiguousSubjectsAreRefused checks that a subject is refused if its text could also
// be the text of another subject or of an owner in a tenant.
func TestAmbiguousSubjectsAreRefused(t *testing.T) {
	type pair struct {
		id    asn1.ObjectIdentifier
		value any
	}
	commonName, organization, serial := asn1.ObjectIdentifier{2, 5, 4, 3}, asn1.ObjectIdentifier{2, 5, 4, 10}, asn1.ObjectIdentifier{2, 5, 4, 5}
	tests := map[string]struct {
		subject []pair
		want    string
	}{
		"plain":               {[]pair{{organization, "Example"}, {commonName, "admin"}}, "CN=admin,O=Example"},
		"two organizations":   {[]pair{{organization, "A"}, {organization, "B"}, {commonName, "admin"}}, "CN=admin,O=A+O=B"},
		"two common names":    {[]pair{{commonName, "evil"}, {commonName, "admin"}}, ""},
		"two serial numbers":  {[]pair{{serial, "1"}, {serial, "2"}, {commonName, "admin"}}, ""},
		"the mark of tenants": {[]pair{{commonName, "admin\x1ft"}}, ""},
		"a line break":        {[]pair{{commonName, "admin\nx"}}, ""},
		"not text":            {[]pair{{commonName, "admin"}, {organization, 7}}, ""},
		"none":                {nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var sequence pkix.RDNSequence
			for _, p := range test.subject {
				sequence = append(sequence, pkix.RelativeDistinguishedNameSET{{Type: p.id, Value: p.value}})
			}
			leaf := &x509.Certificate{}
			leaf.Subject.FillFromRDNSequence(&sequence)
			c := &Certificate{}
			c.config.Subject = true
			got, problem := c.principal(leaf, false)
			if got != test.want || (problem == "") != (test.want != "") {
				t.Errorf("principal() = %q, %q, want %q", got, problem, test.want)
			}
		})
	}
}

// TestAuthorityIsBoundToItsTrustDomain checks that the authorities of one trust domain cannot name a caller of another one.
func TestAuthorityIsBoundToItsTrustDomain(t *testing.T) {
	attempts := 1 // the last one
	for id, want := range map[string]bool{
		"spiffe://example.org/ns/team/sa/caller":       true,
		"spiffe://example.net/ns/team/sa/caller":       false,
		"spiffe://sub.example.org/ns/team/sa/caller":   false,
		"spiffe://example.org.example.net/ns/team":     false,
		"spiffe://xexample.org/ns/team":                false,
		"spiffe://EXAMPLE.ORG/ns/team":                 false,
		"spiffe://example.org:8443/ns/team":            false,
		"spiffe://example.org@example.net/ns/team":     false,
		"https://example.org/ns/team/sa/caller":        false,
		"spiffe://example.net/?x=spiffe://example.org": false,
	} {
		u, err := url.Parse(id)
		if err != nil {
			t.Fatal(err)
		}
		c := NewCertificate(CertificateConfig{TrustDomain: "example.org"})
		got, problem := c.principal(&x509.Certificate{URIs: []*url.URL{u}}, false)
		if (got == id) != want || (problem == "") != want {
			t.Errorf("%s: principal() = %q, %q", id, got, problem)
		}
		if !want {
			attempts++
		}
	}
	// Without a trust domain, no SPIFFE ID is accepted.
	u := &url.URL{Scheme: "spiffe", Host: "example.org", Path: "/a"}
	if got, problem := NewCertificate(CertificateConfig{}).principal(&x509.Certificate{URIs: []*url.URL{u}}, false); problem == "" {
		t.Errorf("without a trust domain: principal() = %q", got)
	}
	securitypage.Attempts(t, "T-TRUST", attempts)
}

// TestChainsThatTakeLongAreRefused checks which certificates of a client are refused before any signature is verified.
func TestChainsThatTakeLongAreRefused(t *testing.T) {
	issuer := func(subject string, bits uint, exponent int) *x509.Certificate {
		key := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), bits-1), E: exponent}
		return &x509.Certificate{RawSubject: []byte(subject), PublicKey: key}
	}
	leaf := issuer("leaf", 8192, 3)
	var many []*x509.Certificate
	for i := range maxChain {
		many = append(many, issuer(fmt.Sprint(i), 2048, 65537))
	}
	for name, tt := range map[string]struct {
		issuers []*x509.Certificate
		refused bool
	}{
		"none":                      {nil, false},
		"the most":                  {many[1:], false},
		"too many":                  {many, true},
		"one of two authorities":    {[]*x509.Certificate{issuer("x", 4096, 65537), issuer("x", 4096, 65537)}, false},
		"one of three authorities":  {[]*x509.Certificate{issuer("x", 2048, 3), issuer("x", 2048, 3), issuer("x", 2048, 3)}, true},
		"a long key":                {[]*x509.Certificate{issuer("x", 4097, 65537)}, true},
		"a key of a large exponent": {[]*x509.Certificate{issuer("x", 2048, 65539)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if problem := refusalOf(append([]*x509.Certificate{leaf}, tt.issuers...)); (problem != "") != tt.refused {
				t.Errorf("refusalOf() = %q, want a refusal: %v", problem, tt.refused)
			}
		})
	}
}
