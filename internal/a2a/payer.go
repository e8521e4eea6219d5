// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "net/netip"

// Payer is who is charged for what a request uses: a principal, whatever the
// tenant and whoever shares its tasks, or an address for callers that are nobody.
type Payer struct {
	Principal string
	Address   netip.Addr
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

// Equal is ==, for those who compare by reflection.
func (p Payer) Equal(other Payer) bool { return p == other }
