// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// maxURL is the maximum length of a URL in bytes.
const maxURL = 2048

// notAllowed is the only information about the policy in errors that clients receive.
const notAllowed = "must lead to a target that this agent is allowed to call"

// Host returns the host of a URL in its normal form, as Policy.Configured expects it.
func Host(u *url.URL) (string, error) {
	return hosturl.Host(u)
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
	host, err := hosturl.Host(u)
	if err != nil {
		return t, err.Error()
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
	t.hostport = host
	if port != "" || strings.Contains(host, ":") {
		t.hostport = net.JoinHostPort(host, port)
		t.hostport = strings.TrimSuffix(t.hostport, ":")
	}
	return t, ""
}
