// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// configDecisions returns who decides about the calls of an agent without code and where, or nil if the owner of a task decides by
// commands. It returns a problem for an expression that does not compile.
func configDecisions(in state.Agent, platform Platform) (*sidecarconfig.Decisions, []state.Problem, error) {
	agent := in.Agent
	d := &sidecarconfig.Decisions{}
	var problems []state.Problem
	if model := agent.Spec.Model; model != nil && model.Approval != nil {
		for i, text := range model.Approval.Approvers {
			checked, err := celcompile.CompileApprovers(agent.Namespace, text)
			if mistake, ok := errors.AsType[*celcompile.ExpressionError](err); ok {
				problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidAuthorization,
					"spec.model.approval.approvers[%d] is not valid CEL: %v; correct the expression", i, mistake))
				continue
			}
			if err != nil {
				return nil, nil, fmt.Errorf("compile spec.model.approval.approvers[%d]: %w", i, err)
			}
			d.Approvers = append(d.Approvers, sidecarconfig.Expression{Text: text, Checked: checked})
		}
	}
	if hasDecisionPage(agent, platform) && in.TokenIssuer != nil {
		d.Page = &sidecarconfig.DecisionPage{
			URL:      platform.PageURL + "/approvals/" + agent.Namespace + "/" + agent.Name,
			Issuer:   platform.PageIssuer,
			Audience: names.Audience(agent.Name, agent.Namespace),
			Keys:     in.TokenIssuer.Keys,
		}
	}
	if d.Page == nil && len(d.Approvers) == 0 {
		return nil, problems, nil
	}
	return d, problems, nil
}

// hasDecisionPage reports whether people decide about calls of the agent on the page of the manager.
func hasDecisionPage(agent *a2av1alpha1.Agent, platform Platform) bool {
	return backendProtocol(agent) == sidecarconfig.ProtocolChatCompletions && platform.PageURL != "" && platform.IssuesTokens
}
