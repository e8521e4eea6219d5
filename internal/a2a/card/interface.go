// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"
)

// served are the bindings of each protocol version, the preferred one first.
// 0.2 and 0.1 have no entry of their own: their clients read the members of
// 0.3 and speak its JSON-RPC, which serves them too.
var served = []struct {
	version  string
	bindings []Binding
}{
	{"1.0", []Binding{JSONRPC, HTTPJSON, GRPC}},
	{"0.3", []Binding{JSONRPC, HTTPJSON, GRPC}},
}

// Base is a URL at which an agent is served, and what by.
type Base struct {
	URL string
	// Bindings are all of them when it is empty.
	Bindings []Binding
}

// Interfaces lists every binding of every version at each of some base URLs,
// such as "https://a.example".
func Interfaces(urls ...string) []Interface {
	bases := make([]Base, 0, len(urls))
	for _, u := range urls {
		bases = append(bases, Base{URL: u})
	}
	return InterfacesAt(bases...)
}

// InterfacesAt lists what each base serves, in every version. Versions come
// before bases: a client takes the first entry that it can use, and the newest
// version of it.
func InterfacesAt(bases ...Base) []Interface {
	var all []Interface
	for _, s := range served {
		for _, base := range bases {
			for _, b := range s.bindings {
				if len(base.Bindings) > 0 && !slices.Contains(base.Bindings, b) {
					continue
				}
				if address := b.address(base.URL); address != "" {
					all = append(all, Interface{URL: address, Binding: b, ProtocolVersion: s.version})
				}
			}
		}
	}
	return all
}

// address is where a binding is served: JSON-RPC at the base itself, HTTP+JSON
// at paths that clients append to it, and gRPC at a host and port, since that
// is what the dialers of the official clients take. It is "" where a binding
// cannot be: gRPC has no path.
func (b Binding) address(base string) string {
	base = strings.TrimSuffix(base, "/")
	switch b {
	case JSONRPC:
		return base + "/"
	case GRPC:
		u, err := url.Parse(base)
		if err != nil || u.Path != "" {
			return ""
		}
		port := "80"
		if u.Scheme == "https" {
			port = "443"
		}
		return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	default:
		return base
	}
}

// newestFirst keeps the order of preference within a version.
func newestFirst(all []Interface) []Interface {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Interface) int {
		return cmp.Compare(b.ProtocolVersion, a.ProtocolVersion)
	})
	return sorted
}

// legacyInterfaces are those that clients up to 0.3 can use, or all when there
// is none: url is required.
func legacyInterfaces(all []Interface) []Interface {
	legacy := slices.DeleteFunc(slices.Clone(all), func(i Interface) bool {
		return !strings.HasPrefix(i.ProtocolVersion, "0.")
	})
	if len(legacy) == 0 {
		return all
	}
	return slices.CompactFunc(legacy, func(a, b Interface) bool {
		return a.URL == b.URL && a.Binding == b.Binding
	})
}
