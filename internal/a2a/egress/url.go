// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL is the maximum length of a URL in bytes.
const maxURL = 2048

// notAllowed is the only information about the policy in errors that clients receive.
const notAllowed = "must lead to a target that this agent is allowed to call"

// Host returns the host of a URL in its normal form, as Policy.Configured expects it.
func Host(u *url.URL) (string, error) {
	host, ok := normalHost(u.Hostname())
	if !ok {
		return "", errors.New("must name a host by its DNS name or by a plain IP address")
	}
	return host, nil
}

// target is the host and scheme of an allowed URL.
type target struct {
	// hostport is the normal form of the host. The port follows if the URL has one.
	hostport string
	plain    bool
}

// check checks the text of a URL against a policy and the protected targets. reason is the
// reason why the URL is not allowed, and "" if it is allowed.
func check(p *Policy, protected *Protected, u *url.URL) (t target, reason string) {
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Host == "":
		return t, "must be an absolute URL with the scheme https, or http for an allowed Service or private address"
	case u.User != nil:
		return t, "must not contain a user name or password"
	case u.Fragment != "" || u.RawFragment != "":
		return t, "must not contain a fragment"
	}
	host, ok := normalHost(u.Hostname())
	if !ok {
		return t, "must name a host by its DNS name or by a plain IP address"
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return t, "must name a port between 1 and 65535"
	}
	t.plain = u.Scheme == "http"
	a := p.access(host, t.plain, protected)
	if literal, err := netip.ParseAddr(host); err == nil {
		if !a.permits(literal) {
			return t, notAllowed
		}
	} else if !a.possible() {
		return t, notAllowed
	}
	if t.hostport = host; port != "" || strings.Contains(host, ":") {
		t.hostport = net.JoinHostPort(host, port)
		t.hostport = strings.TrimSuffix(t.hostport, ":")
	}
	return t, ""
}

// normalHost returns the normal form of a host: a DNS name in lower case without a dot at
// its end, or an IP address in its canonical form. It refuses names that a resolver may
// parse as a number: 127.1, 0x7f000001 or 2130706433.
func normalHost(host string) (string, bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if literal, err := netip.ParseAddr(host); err == nil {
		return literal.String(), literal.Zone() == "" && !literal.Is4In6()
	}
	if len(host) > 253 {
		return "", false
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
			strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", false
		}
	}
	return host, !numeric(labels[len(labels)-1])
}

// numeric reports whether a resolver may parse a name that ends in the label as an IPv4
// address ("ends in a number" of the URL standard).
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, found := strings.CutPrefix(label, "0x")
	return found && strings.Trim(hex, "0123456789abcdef") == ""
}
