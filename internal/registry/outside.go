// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// OutsideOptions configure the catalog outside of the cluster: a listener for a Gateway,
// with the paths of ARD for public agents that have an external URL.
type OutsideOptions struct {
	// BindAddress is the address of the listener, which serves plain HTTP.
	BindAddress string
	// Publisher makes the identifiers and URLs of entries. Its URL must be the URL of the
	// Gateway, and its field Outside must be true.
	Publisher *ard.Publisher
}

// maxOutsideConnections bounds the connections of the listener. Further ones wait.
const maxOutsideConnections = 1_000

// outsideRate bounds the requests of one address. All clients behind the Gateway have the
// address of the Gateway.
var outsideRate = limit.Rate{PerSecond: 50, Burst: 200}

// newOutsideSearches returns the limits of requests to the catalog outside of the cluster.
func newOutsideSearches(c clock.PassiveClock) *searches {
	s := newAnonymousSearches(c)
	s.callers = limit.NewTable(limitedCallers, outsideRate)
	s.maxResponses = maxAllAnonymousResponses
	s.message = "too many searches from this address; keep the results"
	return s
}

// outsideHandler returns the handler of the catalog outside of the cluster. It serves
// only the catalog and /healthz, and accepts no credentials.
func (a *api) outsideHandler(publisher *ard.Publisher) http.Handler {
	mux := http.NewServeMux()
	d := &ardAPI{
		api: a, publisher: publisher, isOutside: true,
		anonymous: newOutsideSearches(a.searches.clock), anonymousSet: access.NewSet(access.VisibilityOutside),
	}
	d.handleRoutes(mux)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("/", d.unknown)
	return counted(mux, clock.RealClock{})
}
