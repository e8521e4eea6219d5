// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// TestServeCallerShowsWhatTheCallerSees serves requests for callers that another server has authenticated. The
// requests have the token of an administrator, which ServeCaller must ignore.
func TestServeCallerShowsWhatTheCallerSees(t *testing.T) {
	var registry *api
	w := newWorldWith(t, visibleAgents(t), func(a *api) { registry = a })
	s := &Server{api: registry, forCallers: registry.callersHandler()}
	get := func(c access.Caller, path string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer admin")
		out := httptest.NewRecorder()
		s.ServeCaller(out, r, c)
		return out.Code, out.Body.String()
	}
	for token, sees := range map[string]string{"none": "open", "dev": "open", "admin": "inside open shared"} {
		_, list := get(w.tokens[token], "/v1/agents")
		for _, name := range []string{"inside", "shared", "open"} {
			want := strings.Contains(sees, name)
			if strings.Contains(list, `"name":"`+name+`"`) != want {
				t.Errorf("%s lists %s", token, list)
			}
			if status, body := get(w.tokens[token], "/v1/agents/team-z/"+name); (status == http.StatusOK) != want {
				t.Errorf("%s gets %s: %d %s", token, name, status, body)
			}
		}
		all, err := s.SeesNamespace(t.Context(), w.tokens[token], "team-z")
		if err != nil || all != (token == "admin") {
			t.Errorf("%s sees the namespace: %t %v", token, all, err)
		}
	}
	for _, path := range []string{"/v1/token", "/v1/peers", "/healthz"} {
		if status, _ := get(w.tokens["admin"], path); status != http.StatusNotFound {
			t.Errorf("%s has the status %d", path, status)
		}
	}
	// The handler itself authenticates no token. A request that does not come from ServeCaller has
	// no caller.
	out := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/agents", http.NoBody)
	r.Header.Set("Authorization", "Bearer admin")
	s.forCallers.ServeHTTP(out, r)
	if out.Code != http.StatusUnauthorized {
		t.Errorf("a request without a caller has the status %d", out.Code)
	}
}

// Clients that need only the namespace and the name of an agent read the first bytes of its JSON.
func TestAgentsBeginWithTheirNames(t *testing.T) {
	e := makeEntry(t, index.Key{Namespace: "team-z", Name: "a"}, true, strings.Repeat("long", registryapi.EventHead))
	head, err := registryapi.DecodeEventHead("upsert", "1", e.Body()[:registryapi.EventHead])
	if err != nil || head.Namespace != "team-z" || head.Name != "a" {
		t.Errorf("the agent begins with %.100s: %v", e.Body(), err)
	}
}
