// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

func TestGateways(t *testing.T) {
	word := func(address string) string {
		bytes := netip.MustParseAddr(address).As4()
		return fmt.Sprintf("%08X", binary.NativeEndian.Uint32(bytes[:]))
	}
	table := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t" + word("10.244.0.1") + "\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth0\t" + word("10.244.0.0") + "\t00000000\t0001\t0\t0\t0\t" + word("255.255.255.0") + "\t0\t0\t0\n" +
		"eth0\t" + word("10.244.0.0") + "\t" + word("10.244.0.9") + "\t0003\t0\t0\t0\t" + word("255.255.0.0") + "\t0\t0\t0\n" +
		"tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n"
	if got, err := gatewaysOf(table); err != nil || !slices.Equal(got, addresses("10.244.0.1")) {
		t.Errorf("gatewaysOf() = %v, %v; want 10.244.0.1", got, err)
	}
	const zero = "00000000000000000000000000000000"
	table = zero + " 00 " + zero + " 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n" +
		zero + " 00 " + zero + " 00 " + zero + " ffffffff 00000001 00000000 00200200       lo\n" +
		"fd000000000000000000000000000000 40 " + zero + " 00 fd000000000000000000000000000009 00000100 00000001 00000000 00000001     eth0\n"
	if got, err := gateways6Of(table); err != nil || !slices.Equal(got, addresses("fd00::1")) {
		t.Errorf("gateways6Of() = %v, %v; want fd00::1", got, err)
	}
	if _, err := gatewaysOf("\neth0 00000000 gateway 0003 0 0 0 00000000\n"); err == nil {
		t.Error("gatewaysOf() of no address has no error")
	}
	if _, err := gateways6Of(zero + " 00 " + zero + " 00 fd00 0 0 0 0 eth0\n"); err == nil {
		t.Error("gateways6Of() of no address has no error")
	}
	if _, err := defaultGateways(); err != nil {
		t.Errorf("defaultGateways() error = %v", err)
	}
}
