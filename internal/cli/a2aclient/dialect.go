// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// dialects are the dialects of the CLI. In versions up to 0.3, the CLI polls running tasks in place of a subscription
// (clientdialect.Dialect.Resubscribes).
var dialects = []*clientdialect.Dialect{clientdialect.RPCV10, clientdialect.RESTV10, clientdialect.RPCV03, clientdialect.RESTV03, clientdialect.RPCV01}

// endpoint is an interface of a card, with the dialect that it speaks.
type endpoint struct {
	*clientdialect.Dialect
	url    *url.URL
	tenant string
}

// extensionsHeader returns the name of the header that activates extensions.
func (e *endpoint) extensionsHeader() string {
	if e.Version == version.V10 {
		return "A2A-Extensions"
	}
	return "X-A2A-Extensions"
}

// Choice contains the criteria by which the client chooses an interface of a card.
type Choice struct {
	// Transports are the preferred bindings, the best first: JSONRPC or HTTP+JSON.
	Transports []string
	// Version is the version to use, "" for 1.0. The client uses an earlier version only if Version names it (a2a-cli
	// specification, section 13.2).
	Version string
	// Origins restrict the choice to interfaces whose URL has one of these origins, in the form of Origin, nil for no
	// restriction. An empty list allows no interface.
	Origins []string
}

// choose returns the interface to call. Among the interfaces of the chosen version, it prefers the binding that comes
// first in choice.Transports. Among interfaces with this binding, it prefers the first on the card.
func (c *Card) choose(choice Choice) (*endpoint, error) {
	offered, other, err := c.endpoints(choice)
	if err != nil {
		return nil, err
	}
	if len(offered) == 0 {
		return nil, c.noEndpoint(choice, other)
	}
	if len(choice.Transports) > 0 {
		rank := func(e *endpoint) int {
			if i := slices.Index(choice.Transports, string(e.Binding)); i >= 0 {
				return i
			}
			return len(choice.Transports)
		}
		slices.SortStableFunc(offered, func(a, b *endpoint) int { return rank(a) - rank(b) })
	}
	return offered[0], nil
}

// endpoints returns the interfaces of the requested version in the order of the card, and the versions of the other
// interfaces that the CLI can call.
func (c *Card) endpoints(choice Choice) (offered []*endpoint, other []version.Version, err error) {
	wanted := version.V10
	if choice.Version != "" {
		var ok bool
		wanted, ok = version.Parse(choice.Version)
		if !ok || speaks(wanted, "") == nil {
			return nil, nil, failure.New(failure.Usage, "--a2a-version %s is not supported: use 0.1, 0.2, 0.3 or 1.0", choice.Version)
		}
	}
	for i := range c.Interfaces {
		each := &c.Interfaces[i]
		spoken, ok := version.Parse(each.ProtocolVersion)
		d := speaks(spoken, each.Binding)
		if !ok || d == nil {
			continue
		}
		u, err := url.Parse(each.URL)
		if err != nil || u.Host == "" || choice.Origins != nil && !slices.Contains(choice.Origins, Origin(u)) {
			continue
		}
		if d != speaks(wanted, each.Binding) {
			other = append(other, spoken)
			continue
		}
		offered = append(offered, &endpoint{Dialect: d, url: u, tenant: each.Tenant})
	}
	return offered, other, nil
}

// Origin returns the origin of a URL: its scheme, its host in lower case, and its port unless it is the default port of the
// scheme.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host
}

// speaks returns the dialect of a version over a binding, nil if the CLI has none. If the binding is "", speaks returns
// the first dialect of the version.
func speaks(v version.Version, binding card.Binding) *clientdialect.Dialect {
	for _, d := range dialects {
		if d.Supports(v) && (binding == "" || d.Binding == binding) {
			return d
		}
	}
	return nil
}

// elsewhere returns the origin of the interface that the client would call without choice.Origins, "" for none.
func (c *Card) elsewhere(choice Choice) string {
	choice.Origins = nil
	e, err := c.choose(choice)
	if err != nil {
		return ""
	}
	return Origin(e.url)
}

// noEndpoint returns the failure for a card without an interface that the CLI can call.
func (c *Card) noEndpoint(choice Choice, other []version.Version) error {
	offers := make([]string, 0, len(c.Interfaces))
	for i := range c.Interfaces {
		offers = append(offers, fmt.Sprintf("%s %s", c.Interfaces[i].ProtocolVersion, c.Interfaces[i].Binding))
	}
	if len(offers) == 0 {
		return failure.New(failure.CardInvalid, "the card names no interface")
	}
	if len(other) == 0 && choice.Origins != nil {
		if elsewhere := c.elsewhere(choice); elsewhere != "" {
			return failure.New(failure.CardInvalid, "the credential was not sent: the card names an interface at %s, and the agent is at %s",
				elsewhere, cmp.Or(strings.Join(choice.Origins, ", "), "no origin, because its card is a file")).
				WithHint("if %s may have your credential, add --credential-origin %s", elsewhere, elsewhere)
		}
	}
	if len(other) > 0 {
		best := slices.MaxFunc(other, func(a, b version.Version) int { return (a.Major-b.Major)*1000 + a.Minor - b.Minor })
		wanted := cmp.Or(choice.Version, "1.0")
		return failure.New(failure.OfReason(a2a.ReasonVersionNotSupported), "the card has no interface of A2A %s; it offers %s", wanted, strings.Join(offers, ", ")).
			WithHint("add --a2a-version %s", best)
	}
	return failure.New(failure.CardInvalid, "the card has no interface that the CLI can call, which are JSON-RPC and HTTP+JSON of 0.1 to 1.0; it offers %s", strings.Join(offers, ", "))
}
