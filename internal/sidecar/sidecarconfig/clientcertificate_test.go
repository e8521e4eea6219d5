// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"strings"
	"testing"
)

func TestCertificateHosts(t *testing.T) {
	hosts := CertificateHosts{"agents.example.com", "*.partner.example", "10.0.0.1"}
	if errs := hosts.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	for host, want := range map[string]bool{
		"agents.example.com": true, "a.partner.example": true, "a.b.partner.example": true, "10.0.0.1": true,
		"partner.example": false, "evilpartner.example": false, "x.agents.example.com": false, "other.example": false, "": false,
	} {
		if got := hosts.Match(host); got != want {
			t.Errorf("Match(%q) = %t", host, got)
		}
	}
	for _, host := range []string{"*", "*.", "", "*partner.example", "a.*.example", "A.example", "a.example:443", "https://a.example", "a_b.example", "a..example", strings.Repeat("a.", 127) + "example"} {
		if errs := (CertificateHosts{"a.example", host}).Validate(); len(errs) != 1 || !strings.Contains(errs[0].Error(), `"`+host+`"`) {
			t.Errorf("Validate(%q) = %v", host, errs)
		}
	}
	for _, host := range []string{"*", "*partner.example"} {
		if (CertificateHosts{host}).Match("evilpartner.example") {
			t.Errorf("%q matches", host)
		}
	}
}
