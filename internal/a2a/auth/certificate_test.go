// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
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
			got, problem := c.principal(leaf)
			if got != test.want || (problem == "") != (test.want != "") {
				t.Errorf("principal() = %q, %q, want %q", got, problem, test.want)
			}
		})
	}
}
