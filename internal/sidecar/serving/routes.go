// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
)

// Route assigns requests to the A2A endpoint to one handler.
type Route struct {
	// Binding is the name of the binding in metrics.
	Binding string
	// Matches reports whether the route serves a request. It reads the path and the header
	// only.
	Matches func(*http.Request) bool
	// Handler serves the requests, after authentication unless Public is true.
	Handler http.Handler
	Public  bool
	// Deny writes an error in the format of the binding. If it is nil, the error has the
	// format of JSON-RPC.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// Routes are tried in their order. The first route that matches a request serves it.
type Routes []Route

// Of returns the route of a request, nil if none matches.
func (s Routes) Of(r *http.Request) *Route {
	for i := range s {
		if s[i].Matches(r) {
			return &s[i]
		}
	}
	return nil
}

// Deny writes an error in the format of the request's binding. If no route matches, it
// writes the format of JSON-RPC, which most clients use.
func (s Routes) Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	if route := s.Of(r); route != nil && route.Deny != nil {
		route.Deny(w, r, problem)
		return
	}
	jsonrpc.Deny(w, r, problem)
}

// Paths returns a function for Route.Matches that matches requests for these paths.
func Paths(paths ...string) func(*http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(paths, r.URL.Path) }
}

// notFound answers 404 with the paths of the endpoint, because a wrong path is a common
// mistake.
func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "path not found: JSON-RPC is at POST /, REST at /message:send, /tasks and, for 0.3, below /v1, the card at GET "+
		wellknown.Path, http.StatusNotFound)
}
