// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestIssuerInAnotherDomain checks that plain http to an issuer of tokens is only for Services of the cluster.
func TestIssuerInAnotherDomain(t *testing.T) {
	for issuer, refused := range map[string]bool{
		"http://dex.auth.svc/dex":              false,
		"http://dex.auth.svc.corp.example/dex": false,
		"https://dex.auth.svc.evil.example":    false,
		"http://dex.auth.svc.evil.example/dex": true,
		"http://dex.auth.svc.cluster.local":    true,
	} {
		agent := &a2av1alpha1.Agent{}
		agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{{JWT: &a2av1alpha1.JWTAuthentication{Issuer: issuer, JWKSURL: issuer}}}
		problems := urlProblems(agent, Platform{ClusterDomain: "corp.example"})
		if !refused && len(problems) > 0 {
			t.Errorf("%s: %+v", issuer, problems)
		}
		if !refused {
			continue
		}
		if len(problems) != 2 {
			t.Errorf("%s: %d problems, want one for each of the two fields", issuer, len(problems))
			continue
		}
		for i, field := range []string{"spec.access.authentication[0].jwt.issuer", "spec.access.authentication[0].jwt.jwksURL"} {
			if message := problems[i].Message; !strings.HasPrefix(message, field) || !strings.Contains(message, "corp.example") {
				t.Errorf("%s: %q does not name %s and the domain", issuer, message, field)
			}
		}
	}
}

// TestModelInAnotherDomain checks that the sidecar of an agent without code knows the domain of Services such as models.team.svc.
func TestModelInAnotherDomain(t *testing.T) {
	agent := &a2av1alpha1.Agent{}
	agent.Spec.Model = &a2av1alpha1.AgentModel{URL: "http://models.team.svc/v1"}
	model, err := configModel(agent, Platform{ClusterDomain: "corp.example"})
	if err != nil || model.ClusterDomain != "corp.example" {
		t.Errorf("domain = %q, %v", model.ClusterDomain, err)
	}
}
