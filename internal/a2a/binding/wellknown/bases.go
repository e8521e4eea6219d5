// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// bases selects the base of a request. The URLs on a card come from a configured base,
// which the request selects, and never from the request.
type bases struct {
	all []card.Base
	// byHost maps the Host of a request to an index into all.
	byHost map[string]int
}

// newBases indexes bases by their hosts. If several bases have the same host, it uses the
// first one with https, or else the first one. The scheme of a request is irrelevant:
// behind a Gateway or load balancer that terminates TLS, requests to https and to http both
// arrive without TLS, and a client of https must not get URLs with http. A Host without a
// port that is not the host of a base selects the base with this host name and any port,
// because proxies omit the port.
func newBases(all []card.Base) *bases {
	b := &bases{all: all, byHost: map[string]int{}}
	for _, secure := range []bool{true, false} {
		b.index(secure, card.Base.Hosts)
	}
	for _, secure := range []bool{true, false} {
		b.index(secure, card.Base.HostNames)
	}
	return b
}

// index adds the hosts of the bases with https, or of those without, that are not in the
// index yet.
func (b *bases) index(secure bool, hosts func(card.Base) []string) {
	for i, base := range b.all {
		if base.Secure() != secure {
			continue
		}
		for _, host := range hosts(base) {
			if _, known := b.byHost[host]; !known {
				b.byHost[host] = i
			}
		}
	}
}

// of returns the index of the base whose host a request names. For any other host it
// returns 0, the primary base.
func (b *bases) of(r *http.Request) int { return b.byHost[card.NormalizeHost(r.Host)] }
