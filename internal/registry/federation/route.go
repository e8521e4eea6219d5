// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// Headers of a query that one registry forwards to another.
const (
	// ViaHeader lists the publishers of the registries that the query has passed, in this
	// order, separated by commas.
	ViaHeader = "A2A-Registry-Via"
	// HopsHeader is the number of further registries that the query may pass after the registry
	// that receives it.
	HopsHeader = "A2A-Registry-Hops"
)

// maxVia bounds the registries in ViaHeader.
const maxVia = maxHops + 1

// Route is the path of a query through registries, as the headers and the caller of its request
// show it.
type Route struct {
	// Via lists the publishers of the registries that the query has passed. It is empty for the
	// query of a client.
	Via []string
	// FromPeer is true if the caller has the right of a peer. It does not depend on the
	// headers, because registries of other vendors do not send ViaHeader.
	FromPeer bool
	// hops is the value of HopsHeader, or nil if the request does not have the header.
	hops *int
}

// ParseRoute returns the route of a request. Its errors are *ard.RequestError.
func ParseRoute(h http.Header) (Route, error) {
	r := Route{}
	for _, line := range h.Values(ViaHeader) {
		for id := range strings.SplitSeq(line, ",") {
			id = strings.ToLower(strings.TrimSpace(id))
			if len(validation.IsDNS1123Subdomain(id)) > 0 || len(r.Via) == maxVia {
				return Route{}, &ard.RequestError{Field: ViaHeader, Cure: fmt.Sprintf("must list at most %d domains of registries, separated by commas", maxVia)}
			}
			r.Via = append(r.Via, id)
		}
	}
	values := h.Values(HopsHeader)
	if len(values) == 0 {
		return r, nil
	}
	hops, err := strconv.Atoi(values[0])
	if err != nil || hops < 0 || hops > maxHops || len(values) > 1 {
		return Route{}, &ard.RequestError{Field: HopsHeader, Cure: fmt.Sprintf("must be one number from 0 to %d", maxHops)}
	}
	r.hops = &hops
	return r, nil
}

// IsForwarded reports whether another registry, and not a client, has sent the query.
func (r Route) IsForwarded() bool { return len(r.Via) > 0 || r.FromPeer }

// hopsFrom returns the number of registries that the query may pass after the registry self, at
// most maxHops (hop limit). It returns 0 for a query that has already passed self (loop
// prevention), for a query with maxVia registries in Via, and for a forwarded query without
// HopsHeader.
func (r Route) hopsFrom(self string, maxHops int) int {
	switch {
	case slices.Contains(r.Via, self) || len(r.Via) == maxVia:
		return 0
	case r.hops != nil:
		return min(*r.hops, maxHops)
	case r.IsForwarded():
		return 0
	default:
		return maxHops
	}
}
