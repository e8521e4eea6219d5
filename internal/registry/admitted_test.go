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
)

// If the rules of an agent may admit a ServiceAccount, the ServiceAccount finds the agent by its
// name, but no search of the ServiceAccount lists the agent.
func TestAdmittedCallersFindAgentsByName(t *testing.T) {
	entries := []*index.Entry{}
	for name, callers := range map[string]access.Admitted{"all": "*", "team-a": "other,team-a", "strangers": "other", "none": ""} {
		e, err := index.NewEntry(index.Facts{Key: index.Key{Namespace: "team-z", Name: name}, URL: "http://x/", Admitted: callers}, index.CardSource{})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	w := newWorld(t, snapshotOf(entries...))
	get := func(token, path string) (int, string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, r)
		return answer.Code, answer.Body.String()
	}
	for name, want := range map[string]int{"all": 200, "team-a": 200, "strangers": 404, "none": 404} {
		if status, body := get("home", "/v1/agents/team-z/"+name); status != want {
			t.Errorf("agent %s: %d %s, want %d", name, status, body, want)
		}
		if status, body := get("dev", "/v1/agents/team-z/"+name); status != 404 {
			t.Errorf("agent %s, for one that is no ServiceAccount: %d %s", name, status, body)
		}
	}
	if _, body := get("home", "/v1/agents?namespace=team-z"); !strings.Contains(body, `"total":0`) {
		t.Errorf("a search = %s", body)
	}
}
