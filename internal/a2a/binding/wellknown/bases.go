// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// bases selects the base of a request. The URLs on a card are those of a configured
// base. The request only selects one.
type bases struct {
	all []card.Base
	// byHost are indexes into all, by the Host of a request.
	byHost map[string]int
}

// newBases indexes bases by their hosts. Of several bases with the same host, it takes the
// first with https, or else the first. The scheme of a request does not count: behind a
// Gateway or load balancer that terminates TLS, requests to https and to http both arrive
// without TLS, and a client of https must not get URLs with http. A host without a port
// that is not the host of a base selects the base with this name and any port, because
// proxies omit the port.
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

// index adds the hosts of the bases with or without https that are not known yet.
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

// of returns the index of the base whose host a request names. It is 0, the
// primary base, for any other host.
func (b *bases) of(r *http.Request) int { return b.byHost[card.NormalizeHost(r.Host)] }
