// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sourceaddress

import (
	"net"
	"net/netip"
	"testing"
)

func TestOf(t *testing.T) {
	own := networksOf([]net.Addr{
		&net.IPNet{IP: net.ParseIP("10.1.0.7"), Mask: net.CIDRMask(24, 32)},
		&net.IPNet{IP: net.ParseIP("fd00::7"), Mask: net.CIDRMask(64, 128)},
		&net.IPNet{IP: net.ParseIP("2001:db8:42:7::7"), Mask: net.CIDRMask(128, 128)},
		&net.UnixAddr{},
	})
	if len(own) != 1 || own[0] != netip.MustParsePrefix("2001:db8:42::/56") {
		t.Errorf("own networks = %v", own)
	}
	for address, want := range map[string]string{
		"10.1.2.3":               "10.1.2.3",
		"::ffff:10.1.2.3":        "10.1.2.3",
		"fd00::1:2:3:4":          "fd00::1:2:3:4",
		"::1":                    "::1",
		"fe80::1%eth0":           "fe80::1",
		"2001:db8:42:7::8":       "2001:db8:42:7::8",
		"2001:db8:42:ff::8":      "2001:db8:42:ff::8",
		"2001:db8:42:100:1::8":   "2001:db8:42:100::",
		"2001:db8:1:2:3:4:5:6%0": "2001:db8:1:2::",
	} {
		if got := of(netip.MustParseAddr(address), own); got != netip.MustParseAddr(want) {
			t.Errorf("of(%s) = %s, want %s", address, got, want)
		}
	}
	if got := Of(netip.Addr{}); got.IsValid() {
		t.Errorf("Of() of no address = %s", got)
	}
}
