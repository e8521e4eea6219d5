// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// ResourcePath is the path of the protected resource metadata (RFC 9728), below the base of the agent.
const ResourcePath = "/.well-known/oauth-protected-resource"

// Resource is the protected resource metadata of an agent: where its clients get tokens.
type Resource struct {
	AuthorizationServers []string
	Scopes               []string
}

// at returns the document for a base.
func (r *Resource) at(base string) ([]byte, error) {
	text, err := json.Marshal(struct {
		Resource             string   `json:"resource"`
		AuthorizationServers []string `json:"authorization_servers"`
		Scopes               []string `json:"scopes_supported,omitempty"`
		BearerMethods        []string `json:"bearer_methods_supported"`
	}{base, r.AuthorizationServers, r.Scopes, []string{"header"}})
	if err != nil {
		return nil, fmt.Errorf("encode protected resource metadata: %w", err)
	}
	return text, nil
}

// ServeResource serves the protected resource metadata, like ServeHTTP. It responds with 404 if there is none.
func (h *Handler) ServeResource(w http.ResponseWriter, r *http.Request) {
	current := h.current.Load()
	serve(w, r, "", current.modified, func() (*variant, error) {
		if current.resources == nil {
			return nil, nil
		}
		return current.resources[current.bases.of(r)], nil
	})
}

// ResourceURL returns the URL of the protected resource metadata for a request, "" for none. It comes from the configured base that
// the request selects.
func (h *Handler) ResourceURL(r *http.Request) string {
	current := h.current.Load()
	if current == nil || current.resources == nil {
		return ""
	}
	return strings.TrimSuffix(current.bases.all[current.bases.of(r)].URL, "/") + ResourcePath
}
