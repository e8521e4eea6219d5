// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// versions are the versions of the interfaces on a card, the newest first, because a
// client uses the first entry that it supports. 0.2 and 0.1 have no entries: their
// clients read the members of 0.3 and call its JSON-RPC endpoint, which also serves 0.2
// and 0.1.
var versions = []string{"1.0", "0.3"}

// Bindings are all bindings that the sidecar serves. A card may list fewer.
var Bindings = []Binding{JSONRPC, HTTPJSON, GRPC}

// DefaultBindings are the bindings of a card whose Bindings are empty. gRPC is not among
// them: its address is a host and a port, and some clients refuse a card with an address
// that is not a URL of the card's own origin.
var DefaultBindings = []Binding{JSONRPC, HTTPJSON}

// Base is a base URL of an agent. A card lists the interfaces of one base.
type Base struct {
	// URL is the URL of JSON-RPC and HTTP+JSON, such as
	// https://agents.example.com/echo/.
	URL string `json:"url"`
	// GRPC is the host and port of gRPC, "" if the base has none.
	GRPC string `json:"grpc,omitempty"`
}

// NewBase returns the base for a URL. If the URL has no path, gRPC is at the same host.
// Otherwise the base has no gRPC, because the path of a gRPC call is fixed and cannot begin
// with the path of the URL.
func NewBase(address string) Base {
	base := Base{URL: address}
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err == nil && u.Path == "" {
		base.GRPC = net.JoinHostPort(u.Hostname(), port(u))
	}
	return base
}

// Hosts returns the accepted values of the Host header in requests for the base, in lower
// case. A value is a host with its port. If the port is a default port, the host without
// the port follows. The values for gRPC are the last ones.
func (b Base) Hosts() []string {
	u, err := url.Parse(b.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	hosts := []string{net.JoinHostPort(host, port(u))}
	if port(u) == defaultPorts[u.Scheme] {
		hosts = append(hosts, strings.TrimSuffix(hosts[0], ":"+port(u)))
	}
	if b.GRPC != "" {
		grpc := strings.ToLower(b.GRPC)
		hosts = append(hosts, grpc, strings.TrimSuffix(strings.TrimSuffix(grpc, ":443"), ":80"))
	}
	return hosts
}

// HostNames returns the values of Hosts without their ports, in lower case. They match
// requests of proxies that omit the port.
func (b Base) HostNames() []string {
	var found []string
	for _, host := range b.Hosts() {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			continue
		}
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// NormalizeHost converts a Host header to the form of Hosts and HostNames: lower case,
// without a trailing dot.
func NormalizeHost(host string) string {
	host = strings.ToLower(host)
	if name, port, ok := strings.Cut(host, ".:"); ok {
		return name + ":" + port
	}
	return strings.TrimSuffix(host, ".")
}

// IsLoopback reports whether a host, with or without a port, is localhost or a loopback
// address.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Secure reports whether the base uses TLS.
func (b Base) Secure() bool { return strings.HasPrefix(b.URL, "https:") }

// Interfaces returns one interface for each version and each binding in bindings. It
// leaves out a binding that the base does not have. If no binding remains, it uses
// DefaultBindings, because clients cannot use a card without interfaces.
func (b Base) Interfaces(bindings []Binding) []Interface {
	if len(bindings) == 0 {
		bindings = DefaultBindings
	}
	var all []Interface
	for _, version := range versions {
		for _, binding := range bindings {
			if address := b.address(binding); address != "" {
				all = append(all, Interface{URL: address, Binding: binding, ProtocolVersion: version})
			}
		}
	}
	if len(all) == 0 {
		return b.Interfaces(DefaultBindings)
	}
	return all
}

// address returns the address of a binding, or "" if the base does not have the binding.
// It is the base URL for JSON-RPC, the prefix of all paths for HTTP+JSON, and a host and
// port for gRPC, because the official clients dial a host and port.
func (b Base) address(binding Binding) string {
	base := strings.TrimSuffix(b.URL, "/")
	switch binding {
	case JSONRPC:
		return base + "/"
	case GRPC:
		return b.GRPC
	default:
		return base
	}
}

// At returns the card with the interfaces of its Bindings at a base.
func (c *Card) At(b Base) *Card {
	at := *c
	at.Interfaces = b.Interfaces(c.Bindings)
	return &at
}

// CheckBindings returns an error for an unknown or a repeated binding.
func (c *Card) CheckBindings() error {
	for i, b := range c.Bindings {
		if !slices.Contains(Bindings, b) {
			return fmt.Errorf("bindings[%d] is %q, must be one of %q", i, b, Bindings)
		}
		if slices.Contains(c.Bindings[:i], b) {
			return fmt.Errorf("bindings[%d] repeats %q: name each binding once", i, b)
		}
	}
	return nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// port returns the port of a URL, or the default port of its scheme.
func port(u *url.URL) string { return cmp.Or(u.Port(), defaultPorts[u.Scheme], "80") }

// legacyInterfaces returns the interfaces of versions 0.x, for clients up to 0.3. If
// there are none, it returns all interfaces, because these clients require the member
// url.
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
