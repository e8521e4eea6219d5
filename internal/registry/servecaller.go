// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

type authenticatedKey struct{}

// ServeCaller serves a request for agents, a card or changes from a caller that another server of this
// process has authenticated. The rules and limits of the API apply to the caller. ServeCaller ignores the
// credentials in the request.
func (s *Server) ServeCaller(w http.ResponseWriter, r *http.Request, c access.Caller) {
	s.forCallers.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), authenticatedKey{}, c)))
}

// SeesNamespace reports whether a caller sees all Agents of a namespace.
func (s *Server) SeesNamespace(ctx context.Context, c access.Caller, namespace string) (bool, error) {
	set, err := s.api.visibleSet(ctx, c)
	if err != nil {
		return false, err
	}
	return set.Contains(namespace), nil
}

// callersHandler returns the handler of ServeCaller.
func (a *api) callersHandler() http.Handler {
	serve := func(next endpoint) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			caller, known := r.Context().Value(authenticatedKey{}).(access.Caller)
			if !known {
				challenge(w, r)
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
