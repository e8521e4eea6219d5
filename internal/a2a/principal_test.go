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
