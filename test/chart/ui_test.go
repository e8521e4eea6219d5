// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRouteOfThePage checks that the route leads the host of the page, without its port, to the Service of the page.
func TestRouteOfThePage(t *testing.T) {
	got := render(t, "registry: {oidc: {issuer: 'https://login.example', audience: registry}}\n"+
		"ui: {enabled: true, url: 'https://agents.example.com:8443/', parentRefs: [{name: public, namespace: gateways}]}")
	want := map[string]any{
		"parentRefs": []any{map[string]any{"name": "public", "namespace": "gateways"}},
		"hostnames":  []any{"agents.example.com"},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": "a2a-operator-ui", "port": float64(80)}}}},
	}
	if diff := cmp.Diff(want, got["HTTPRoute a2a-operator-ui"].Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}
