// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	_ "embed"
	"net/http"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

//go:embed openapi.yaml
var openapi []byte

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		write(w, openapi)
	})
	mux.HandleFunc("GET /v1/agents", a.authenticated(a.search))
	mux.HandleFunc("GET /v1/agents/{$}", a.authenticated(a.search))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", a.authenticated(a.agent))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", a.authenticated(a.card))
	mux.HandleFunc("GET /v1/peers", a.authenticated(a.peers))
	mux.HandleFunc("GET /v1/peers/agents", a.authenticated(a.peerAgents))
	for _, service := range a.services {
		mux.Handle(service.Pattern, service.Handler(Callers{a}))
	}
	if a.publisher != nil {
		a.handleARD(mux, a.publisher)
		a.handleA2A(mux, a.publisher.BaseURL)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, r, apierror.MethodNotAllowed("the list of agents is read-only; use GET"))
			return
		}
		fail(w, r, apierror.NotFound("no such path; /openapi.yaml lists them"))
	})
	return counted(mux, clock.RealClock{})
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	write(w, []byte("ok\n"))
}

// authenticatedKey is the context key under which ServeCaller passes the caller to callersHandler.
type authenticatedKey struct{}

// callersHandler returns the handler of requests of ServeCaller. It takes the caller from the
// context instead of authenticating a token.
func (a *api) callersHandler() http.Handler {
	serve := func(next endpoint) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			caller, known := r.Context().Value(authenticatedKey{}).(access.Caller)
			if !known {
				fail(w, r, errUnauthenticated)
				return
			}
			a.serve(w, r, caller, next)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/agents", serve(a.search))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", serve(a.agent))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", serve(a.card))
	return mux
}

func (a *api) handleARD(mux *http.ServeMux, publisher *ard.Publisher) {
	d := &ardAPI{
		api: a, publisher: publisher,
		anonymous: newAnonymousSearchLimits(a.searchLimits.clock), anonymousSet: access.NewSet(access.VisibilityPublic),
	}
	d.handleRoutes(mux)
}

func (d *ardAPI) handleRoutes(mux *http.ServeMux) {
	search := func(serve func(*ardRequest) (any, error)) ardEndpoint {
		return ardEndpoint{serve: serve, cost: 1}
	}
	for _, path := range []string{ard.ManifestPath, ard.CatalogPath} {
		mux.HandleFunc("OPTIONS "+path, d.preflight)
		mux.HandleFunc("GET "+path, d.handle(ard.TypeCatalog, search(d.manifest)))
	}
	mux.HandleFunc("GET "+ard.NamespacePath+"{namespace}", d.handle(ard.TypeCatalog, search(d.catalog)))
	if !d.isOutside { // outside of the cluster, cards are below the external URLs of agents
		mux.HandleFunc("GET "+ard.CardsPath+"{namespace}/{name}", d.handle(mediaJSON, ardEndpoint{serve: d.agentWithCard, cost: 1, finish: d.card}))
	}
	mux.HandleFunc("POST "+ard.BasePath+"/search", d.handle(mediaJSON, ardEndpoint{serve: d.search, cost: 1, words: searchText, finish: d.searchPeers}))
	mux.HandleFunc("POST "+ard.BasePath+"/explore", d.handle(mediaJSON, ardEndpoint{serve: d.explore, cost: exploreCost, explores: true}))
	mux.HandleFunc("GET "+ard.BasePath+"/agents", d.handle(mediaJSON, search(d.list)))
	mux.HandleFunc("GET "+ard.BasePath+"/{$}", d.handle(ard.TypeRegistry, search(d.descriptor)))
	mux.HandleFunc("OPTIONS "+ard.BasePath+"/", d.preflight)
	mux.HandleFunc(ard.BasePath+"/", d.unknown)
	mux.HandleFunc("GET "+ard.BasePath+"/agents/{identifier}", d.handle(mediaJSON, search(d.agent)))
}

// preflight lets scripts of all origins send requests without a token, which find public agents only.
func (d *ardAPI) preflight(w http.ResponseWriter, _ *http.Request) {
	allowOrigins(w)
	w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	w.Header().Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// allowOrigins lets scripts of all origins read a response. A browser adds no token to their requests.
func allowOrigins(w http.ResponseWriter) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Expose-Headers", "ETag, Retry-After")
}

// unknown responds to a path or a method that ARD does not have.
func (d *ardAPI) unknown(w http.ResponseWriter, r *http.Request) {
	err := apierror.NotFound("no such path; /openapi.yaml lists them")
	if d.isOutside {
		err.Message = "no such path; " + ard.ManifestPath + " leads to all agents"
	}
	switch r.URL.Path {
	case ard.BasePath + "/search", ard.BasePath + "/explore":
		w.Header().Set("Allow", "POST")
		err = apierror.MethodNotAllowed("use POST with a JSON body")
	case ard.BasePath + "/agents":
		w.Header().Set("Allow", "GET, HEAD")
		err = apierror.MethodNotAllowed("use GET")
	}
	d.fail(w, r, err)
}

// OutsideOptions configure the catalog outside of the cluster. It is a listener for a Gateway, with
// the paths of ARD. It has only public agents with an external URL.
type OutsideOptions struct {
	// BindAddress is the address of the listener, which serves plain HTTP.
	BindAddress string
	// Memory is how many bytes the connections may use. Required.
	Memory int64
	// Publisher makes the identifiers and URLs of entries. Its URL must be the URL of the
	// Gateway, and its field Outside must be true.
	Publisher *ard.Publisher
}

// outsideRate is the rate limit for one address. All clients behind the Gateway have the address of
// the Gateway, so they share one rate.
var outsideRate = limit.Rate{PerSecond: 50, Burst: 200}

// newOutsideSearches returns the limits of requests to the catalog outside of the cluster.
func newOutsideSearches(c clock.PassiveClock) *searchLimits {
	s := newAnonymousSearchLimits(c)
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
		anonymous: newOutsideSearches(a.searchLimits.clock), anonymousSet: access.NewSet(access.VisibilityOutside),
	}
	d.handleRoutes(mux)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("/", d.unknown)
	return counted(mux, clock.RealClock{})
}
