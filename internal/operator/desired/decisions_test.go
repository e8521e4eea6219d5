// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// TestOnlyAgentsThatAskForApprovalsHaveThePage checks for which Agents the link to the page is configured.
func TestOnlyAgentsThatAskForApprovalsHaveThePage(t *testing.T) {
	platform := Platform{PageURL: "https://agents.example.com", IssuesTokens: true}
	agent := func(change func(*a2av1alpha1.Agent)) state.Agent {
		a := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "deployer"}, Spec: a2av1alpha1.AgentSpec{Model: &a2av1alpha1.AgentModel{}, Workload: &a2av1alpha1.AgentWorkload{}}}
		change(a)
		return state.Agent{Agent: a, TokenIssuer: &state.Issuer{Keys: []byte(`{"keys":[]}`)}}
	}
	in := agent(func(*a2av1alpha1.Agent) {})
	d := configDecisions(in, platform)
	if d == nil || d.Page == nil || d.Page.URL != "https://agents.example.com/approvals/team/deployer" || d.Page.Audience != "deployer.team.a2a-operator.dev" {
		t.Errorf("the page is %+v", d)
	}
	in.TokenIssuer = nil
	if problems := issuerProblems(in, platform); configDecisions(in, platform) != nil || len(problems) == 0 {
		t.Errorf("without keys: %v", problems)
	}
	for name, in := range map[string]state.Agent{
		"a container": agent(func(a *a2av1alpha1.Agent) { a.Spec.Model = nil }),
		"TLS":         agent(func(a *a2av1alpha1.Agent) { a.Spec.Access.TLS = &a2av1alpha1.AccessTLS{} }),
	} {
		if d := configDecisions(in, platform); d != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := configDecisions(agent(func(*a2av1alpha1.Agent) {}), Platform{IssuesTokens: true}); d != nil {
		t.Errorf("without a page: %+v", d)
	}
}
