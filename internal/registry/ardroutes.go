// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

func (a *api) handleARD(mux *http.ServeMux, publisher *ard.Publisher) {
	d := &ardAPI{
		api: a, publisher: publisher, explorations: make(chan struct{}, 1),
		anonymous: newAnonymousSearches(a.searches.clock), anonymousSet: access.NewSet(access.VisibilityPublic),
	}
	d.handleRoutes(mux)
}

func (d *ardAPI) handleRoutes(mux *http.ServeMux) {
	search := func(serve func(*ardRequest) (any, error)) ardEndpoint {
		return ardEndpoint{serve: serve, cost: 1, slots: d.searches.slots}
	}
	for _, path := range []string{ard.ManifestPath, ard.CatalogPath} {
		mux.HandleFunc("GET "+path, d.handle(ard.TypeCatalog, search(d.manifest)))
	}
	mux.HandleFunc("GET "+ard.NamespacePath+"{namespace}", d.handle(ard.TypeCatalog, search(d.catalog)))
	mux.HandleFunc("POST "+ard.BasePath+"/search", d.handle(mediaJSON, ardEndpoint{serve: d.search, cost: 1, slots: d.searches.slots, prepare: d.embedQuery, finish: d.searchPeers}))
	mux.HandleFunc("POST "+ard.BasePath+"/explore", d.handle(mediaJSON, ardEndpoint{serve: d.explore, cost: exploreCost, slots: d.explorations}))
	mux.HandleFunc("GET "+ard.BasePath+"/agents", d.handle(mediaJSON, search(d.list)))
	mux.HandleFunc(ard.BasePath+"/", d.unknown)
	mux.HandleFunc("GET "+ard.BasePath+"/agents/{identifier}", d.handle(mediaJSON, search(d.agent)))
}

// unknown responds to a path or a method that ARD does not have.
func (d *ardAPI) unknown(w http.ResponseWriter, r *http.Request) {
	err := &ardError{http.StatusNotFound, "NOT_FOUND", "no such path; /openapi.yaml lists them"}
	if d.isOutside {
		err.Message = "no such path; " + ard.ManifestPath + " leads to all agents"
	}
	switch r.URL.Path {
	case ard.BasePath + "/search", ard.BasePath + "/explore":
		w.Header().Set("Allow", "POST")
		err = &ardError{http.StatusMethodNotAllowed, "INVALID_ARGUMENT", "use POST with a JSON body"}
	case ard.BasePath + "/agents":
		w.Header().Set("Allow", "GET, HEAD")
		err = &ardError{http.StatusMethodNotAllowed, "INVALID_ARGUMENT", "use GET"}
	}
	d.fail(w, r, err)
}
