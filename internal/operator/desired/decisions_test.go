// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestOnlyAgentsThatAskForApprovalsHaveThePage checks for which Agents the link to the page is configured.
func TestOnlyAgentsThatAskForApprovalsHaveThePage(t *testing.T) {
	platform := Platform{PageURL: "https://agents.example.com", PageIssuer: "https://login.example.com", IssuesTokens: true}
	agent := func(change func(*a2av1alpha1.Agent)) state.Agent {
		a := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "deployer"}, Spec: a2av1alpha1.AgentSpec{Model: &a2av1alpha1.AgentModel{}, Workload: &a2av1alpha1.AgentWorkload{}}}
		change(a)
		return state.Agent{Agent: a, TokenIssuer: &state.Issuer{Keys: []byte(`{"keys":[]}`)}}
	}
	in := agent(func(*a2av1alpha1.Agent) {})
	decisionsOf := func(in state.Agent, platform Platform) *sidecarconfig.Decisions {
		d, problems, err := configDecisions(in, platform)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		return d
	}
	d := decisionsOf(in, platform)
	if d == nil || d.Page == nil || d.Page.URL != "https://agents.example.com/approvals/team/deployer" || d.Page.Issuer != platform.PageIssuer || d.Page.Audience != "deployer.team.a2a-operator.dev" {
		t.Errorf("the page is %+v", d)
	}
	in.TokenIssuer = nil
	if problems := issuerProblems(in, platform); decisionsOf(in, platform) != nil || len(problems) == 0 {
		t.Errorf("without keys: %v", problems)
	}
	if d := decisionsOf(agent(func(a *a2av1alpha1.Agent) { a.Spec.Model = nil }), platform); d != nil {
		t.Errorf("a container: %+v", d)
	}
	if d := decisionsOf(agent(func(*a2av1alpha1.Agent) {}), Platform{IssuesTokens: true}); d != nil {
		t.Errorf("without a page: %+v", d)
	}
}

// TestApproversAreCompiled checks that the rules of approvers reach the sidecar, and that a mistake names its field.
func TestApproversAreCompiled(t *testing.T) {
	agent := &a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Model: &a2av1alpha1.AgentModel{Approval: &a2av1alpha1.ModelApproval{
		Approvers: []string{`caller.namespace == "oncall" && !caller.ownsTask`, "request.skill == 'x'"},
	}}, Workload: &a2av1alpha1.AgentWorkload{}}}
	d, problems, err := configDecisions(state.Agent{Agent: agent}, Platform{})
	if err != nil || d == nil || len(d.Approvers) != 1 || len(d.Approvers[0].Checked) == 0 {
		t.Errorf("decisions %+v, %v", d, err)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "spec.model.approval.approvers[1] is not valid CEL: line 1, column 1: undeclared reference to 'request'") {
		t.Errorf("problems %+v", problems)
	}
}
