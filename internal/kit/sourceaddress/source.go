// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sourceaddress determines the address as which limits count a client: the address of its
// connection, or the one that a trusted proxy names, and how much of an IPv6 address counts.
//
// It decides nothing about access: a header with an address is no credential.
package sourceaddress

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

const (
	// clientBits is the length of the prefix of public IPv6 addresses that counts as one client.
	clientBits = 64
	// ownBits is the length of the prefix of the own public IPv6 addresses whose addresses count
	// alone. Clusters give the pods of a node the addresses of a /64, or of a part of it, and the
	// nodes these networks of a /56.
	ownBits = 56
)

// Of returns the address as which limits count a client. An IPv4 address counts alone, also if it is
// mapped to IPv6. An IPv6 address inside the cluster counts alone, too, because the pods of a node
// share a prefix, and one pod has one address: a private, loopback or link-local address, or one of
// the networks of this process. Of any other IPv6 address, the /64 counts, because one client has all
// addresses of its /64.
func Of(address netip.Addr) netip.Addr { return of(address, ownNetworks()) }

func of(address netip.Addr, own []netip.Prefix) netip.Addr {
	address = address.Unmap().WithZone("")
	if !address.Is6() || address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() ||
		slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return address
	}
	prefix, _ := address.Prefix(clientBits) // no error: the address has 128 bits
	return prefix.Addr()
}

// ownNetworks returns the networks of the public IPv6 addresses of this process. They do not change in the
// life of a pod. If the interfaces cannot be read, there are none.
var ownNetworks = sync.OnceValue(func() []netip.Prefix {
	addresses, _ := net.InterfaceAddrs()
	return networksOf(addresses)
})

func networksOf(addresses []net.Addr) (own []netip.Prefix) {
	for _, each := range addresses {
		network, ok := each.(*net.IPNet)
		if !ok {
			continue
		}
		address, ok := netip.AddrFromSlice(network.IP)
		address = address.Unmap()
		if !ok || !address.Is6() || !address.IsGlobalUnicast() || address.IsPrivate() {
			continue
		}
		prefix, _ := address.Prefix(ownBits) // no error: the address has 128 bits
		own = append(own, prefix)
	}
	return own
}
