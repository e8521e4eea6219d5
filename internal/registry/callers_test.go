// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestCallersOf(t *testing.T) {
	allow := func(r a2av1alpha1.AuthorizationRule) a2av1alpha1.AuthorizationRule {
		r.Action = a2av1alpha1.AuthorizationAllow
		return r
	}
	rules := func(r ...a2av1alpha1.AuthorizationRule) []a2av1alpha1.AuthorizationRule { return r }
	for name, test := range map[string]struct {
		rules []a2av1alpha1.AuthorizationRule
		types []a2av1alpha1.AuthenticationType
		want  string
	}{
		"none":       {},
		"everyone":   {rules: rules(allow(a2av1alpha1.AuthorizationRule{Skills: []string{"s"}})), want: "*"},
		"namespaces": {rules: rules(allow(a2av1alpha1.AuthorizationRule{Namespaces: []string{"b", "a"}}), allow(a2av1alpha1.AuthorizationRule{Namespaces: []string{"b"}})), want: "a,b"},
		"principals": {rules: rules(allow(a2av1alpha1.AuthorizationRule{Principals: []string{"system:serviceaccount:x:bot", "apikey:k"}})), want: "x"},
		"denied":     {rules: rules(a2av1alpha1.AuthorizationRule{Action: a2av1alpha1.AuthorizationDeny})},
		"by a token": {rules: rules(allow(a2av1alpha1.AuthorizationRule{})), types: []a2av1alpha1.AuthenticationType{"JWT", "Kubernetes"}, want: "*"},
		"no names":   {rules: rules(allow(a2av1alpha1.AuthorizationRule{Namespaces: []string{"*", "a,b"}}), allow(a2av1alpha1.AuthorizationRule{Principals: []string{"system:serviceaccount:*:bot"}}))},
		"by a key":   {rules: rules(allow(a2av1alpha1.AuthorizationRule{})), types: []a2av1alpha1.AuthenticationType{"APIKey"}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{}
			agent.Spec.Access.Authorization = test.rules
			for _, way := range test.types {
				agent.Spec.Access.Authentication = append(agent.Spec.Access.Authentication, a2av1alpha1.Authentication{Type: way})
			}
			if got := callersOf(agent); got != test.want {
				t.Errorf("callersOf() = %q, want %q", got, test.want)
			}
		})
	}
}

// An agent whose rules may let a ServiceAccount in is found by that one by its
// names, and stands in none of its searches.
func TestAgentIsFoundByThoseItAdmits(t *testing.T) {
	entries := []*Entry{}
	for name, callers := range map[string]string{"all": "*", "team-a": "other,team-a", "strangers": "other", "none": ""} {
		e, err := newEntry(Facts{Key: Key{Namespace: "team-z", Name: name}, URL: "http://x/", Callers: callers}, nil)
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
