// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestVisibilityOf(t *testing.T) {
	for name, test := range map[string]struct {
		visibility  a2av1alpha1.Visibility
		externalURL string
		want        Visibility
	}{
		"nothing":                     {"", "https://a.example/", VisibilityCluster},
		"cluster":                     {a2av1alpha1.VisibilityCluster, "https://a.example/", VisibilityCluster},
		"federated":                   {a2av1alpha1.VisibilityFederated, "https://a.example/", VisibilityFederated},
		"public":                      {a2av1alpha1.VisibilityPublic, "", VisibilityPublic},
		"public with an external URL": {a2av1alpha1.VisibilityPublic, "https://a.example/", VisibilityOutside},
		"a value of a later version":  {"Galaxy", "https://a.example/", VisibilityCluster},
	} {
		agent := &a2av1alpha1.Agent{}
		agent.Spec.Discovery.Visibility, agent.Status.ExternalURL = test.visibility, test.externalURL
		if got := VisibilityOf(agent); got != test.want {
			t.Errorf("%s: VisibilityOf() = %d, want %d", name, got, test.want)
		}
	}
}
