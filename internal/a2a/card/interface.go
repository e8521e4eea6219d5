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

// versions are those that a card lists interfaces of, the newest first: a
// client takes the first entry that it can use. 0.2 and 0.1 have no entry of
// their own: their clients read the members of 0.3 and speak its JSON-RPC,
// which serves them too.
var versions = []string{"1.0", "0.3"}

// Bindings are those that an agent is served by, whether a card lists them or
// not.
var Bindings = []Binding{JSONRPC, HTTPJSON, GRPC}

// DefaultBindings are those of a card that names none. gRPC is not among them:
// its address is a host and a port, and there are clients that refuse a card
// with an address that is no URL of the card's own origin.
var DefaultBindings = []Binding{JSONRPC, HTTPJSON}

// Base is one URL at which an agent is served. A card lists the interfaces of
// one base.
type Base struct {
	// URL is where JSON-RPC and HTTP+JSON are served, such as
	// https://agents.example.com/echo/.
	URL string `json:"url"`
	// GRPC is the host and port at which gRPC is served, "" when it is not served
	// there.
	GRPC string `json:"grpc,omitempty"`
}

// NewBase returns the base of a URL at which every binding is served. A URL with
// a path has no gRPC, whose calls have paths of their own.
func NewBase(address string) Base {
	base := Base{URL: address}
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err == nil && u.Path == "" {
		base.GRPC = net.JoinHostPort(u.Hostname(), port(u))
	}
	return base
}

// Hosts returns the values of a request's Host with which the base is asked
// for, in lower case: with its port, and without where that is the default.
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

// HostNames returns the values of a request's Host without a port with which a
// proxy that leaves the port out asks for the base, in lower case.
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

// NormalizeHost returns the Host of a request as Hosts and HostNames return
// theirs: in lower case, and without the dot of the root of DNS.
func NormalizeHost(host string) string {
	host = strings.ToLower(host)
	if name, port, ok := strings.Cut(host, ".:"); ok {
		return name + ":" + port
	}
	return strings.TrimSuffix(host, ".")
}

// Secure reports whether the base is served with TLS.
func (b Base) Secure() bool { return strings.HasPrefix(b.URL, "https:") }

// Interfaces lists some bindings of a base in every version. No bindings are
// DefaultBindings, and so are bindings of which none is served at the base: a
// card without interfaces is of no use to any client.
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

// address is where a binding is served: JSON-RPC at the base itself, HTTP+JSON
// at paths that clients append to it, and gRPC at a host and port, since that
// is what the dialers of the official clients take. It is "" where a binding is
// not served.
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

// At returns the card with the interfaces of a base: those of its Bindings.
func (c *Card) At(b Base) *Card {
	at := *c
	at.Interfaces = b.Interfaces(c.Bindings)
	return &at
}

// CheckBindings returns what is wrong with the Bindings.
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

// port is that of a URL, whether it names it or not.
func port(u *url.URL) string { return cmp.Or(u.Port(), defaultPorts[u.Scheme], "80") }

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
