// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

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
