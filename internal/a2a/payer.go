// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "net/netip"

// Payer is who is charged for what a request uses: an owner, whatever the
// tenant, or an address for callers that are nobody.
type Payer struct {
	Owner   Owner
	Address netip.Addr
}

// PayerAt returns the payer at an address of a client, with a port or without.
// Who has one address of IPv6 has all of its /64.
func PayerAt(address string) Payer {
	from, err := netip.ParseAddrPort(address)
	ip := from.Addr()
	if err != nil {
		ip, _ = netip.ParseAddr(address)
	}
	ip = ip.Unmap().WithZone("")
	const subnet = 64
	if ip.Is6() {
		prefix, _ := ip.Prefix(subnet) // it has more bits
		ip = prefix.Addr()
	}
	return Payer{Address: ip}
}
