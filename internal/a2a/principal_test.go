// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a_test

import (
	"net/netip"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestAccountingPrincipalAt(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80":             "192.0.2.1",
		"192.0.2.1":                "192.0.2.1",
		"[::ffff:192.0.2.1]:80":    "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:8": "2001:db8:1:2::",
		"[fd00::1]:80":             "fd00::1",
	} {
		if got := a2a.AccountingPrincipalAt(address); got.Address != netip.MustParseAddr(want) {
			t.Errorf("AccountingPrincipalAt(%q) = %v, want %s", address, got, want)
		}
	}
	if got := a2a.AccountingPrincipalAt("@"); got != (a2a.AccountingPrincipal{}) {
		t.Errorf("AccountingPrincipalAt() of no address = %v", got)
	}
}

func TestServiceAccountsOfANamespaceHaveOneShare(t *testing.T) {
	for owner, want := range map[a2a.Owner]string{
		"system:serviceaccount:team:a":                                    "system:serviceaccount:team",
		a2a.Owner("system:serviceaccount:team:b#uid").For("x").In("acme"): "system:serviceaccount:team",
		"system:serviceaccount:team-2:a":                                  "system:serviceaccount:team-2",
		"jwt:https://issuer.example.com#ann":                              "jwt:https://issuer.example.com#ann",
		"":                                                                "",
	} {
		if got := owner.Share(); got != want {
			t.Errorf("Share() of %q = %q, want %q", owner, got, want)
		}
	}
}
