// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publicaddress knows which IP addresses are public: they have the same meaning in all networks.
package publicaddress

import (
	"net/netip"
	"slices"
)

// Special lists the ranges of addresses that are not public (the special-purpose
// registries of IANA, RFC 6890) or that embed another address.
var Special = prefixes(
	"0.0.0.0/8",          // this network
	"10.0.0.0/8",         // private
	"100.64.0.0/10",      // carrier-grade NAT
	"127.0.0.0/8",        // loopback
	"169.254.0.0/16",     // link-local, metadata
	"172.16.0.0/12",      // private
	"192.0.0.0/24",       // IETF protocols
	"192.0.2.0/24",       // documentation
	"192.88.99.0/24",     // 6to4 relays
	"192.168.0.0/16",     // private
	"198.18.0.0/15",      // benchmarks
	"198.51.100.0/24",    // documentation
	"203.0.113.0/24",     // documentation
	"224.0.0.0/4",        // multicast
	"240.0.0.0/4",        // reserved
	"255.255.255.255/32", // broadcast
	"::/128",             // unspecified
	"::1/128",            // loopback
	"::/96",              // IPv4-compatible
	"::ffff:0:0/96",      // IPv4-mapped
	"::ffff:0:0:0/96",    // IPv4-translated
	"64:ff9b::/96",       // NAT64
	"64:ff9b:1::/48",     // NAT64, local
	"100::/64",           // discard
	"2001::/32",          // Teredo
	"2001:2::/48",        // benchmarks
	"2001:10::/28",       // ORCHID
	"2001:20::/28",       // ORCHIDv2
	"2001::/23",          // IETF protocols
	"2001:db8::/32",      // documentation
	"2002::/16",          // 6to4
	"3fff::/20",          // documentation
	"5f00::/16",          // segment routing
	"fc00::/7",           // unique local
	"fe80::/10",          // link-local
	"fec0::/10",          // site-local
	"ff00::/8",           // multicast
)

// Metadata lists the addresses of clouds' metadata services outside of the link-local
// range. A metadata service returns credentials of the machine.
var Metadata = prefixes(
	"100.100.100.200/32", // Alibaba Cloud
	"168.63.129.16/32",   // Azure
	"192.0.0.192/32",     // Oracle Cloud
	"fd00:ec2::254/128",  // AWS
	"fd20:ce::254/128",   // Google Cloud
)

// global is the range of globally routed IPv6 addresses.
var global = netip.MustParsePrefix("2000::/3")

// Is reports whether an address is public. An IPv4 address that is mapped to IPv6 is not: callers unmap it.
func Is(a netip.Addr) bool {
	return !within(Special, a) && !within(Metadata, a) && (a.Is4() || global.Contains(a))
}

func within(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}
