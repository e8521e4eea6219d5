// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"net/http"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// bases finds the base that a request came for. The URLs on a card are those of
// a configured base: of the request no more is used than to choose one.
type bases struct {
	all []card.Base
	// byHost are indexes into all.
	byHost map[string][]int
}

func newBases(all []card.Base) *bases {
	b := &bases{all: all, byHost: map[string][]int{}}
	for i, base := range all {
		for _, host := range base.Hosts() {
			if !slices.Contains(b.byHost[host], i) {
				b.byHost[host] = append(b.byHost[host], i)
			}
		}
	}
	return b
}

// of returns the index of the base whose host a request names; of several, of
// the one that is served as the request came, with TLS or without. It is 0, the
// primary base, for any other host.
func (b *bases) of(r *http.Request) int {
	host := strings.ToLower(r.Host)
	if name, port, ok := strings.Cut(host, ".:"); ok {
		host = name + ":" + port
	}
	found := b.byHost[strings.TrimSuffix(host, ".")]
	for _, i := range found {
		if b.all[i].Secure() == (r.TLS != nil) {
			return i
		}
	}
	if len(found) > 0 {
		return found[0]
	}
	return 0
}
