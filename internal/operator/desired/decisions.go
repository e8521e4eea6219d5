// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// configDecisions returns who decides about the calls of an agent without code and where, or nil if the owner of a task decides by
// commands.
func configDecisions(in state.Agent, platform Platform) *sidecarconfig.Decisions {
	agent := in.Agent
	if !hasDecisionPage(agent, platform) || in.TokenIssuer == nil {
		return nil
	}
	return &sidecarconfig.Decisions{Page: &sidecarconfig.DecisionPage{
		URL:      platform.PageURL + "/approvals/" + agent.Namespace + "/" + agent.Name,
		Audience: names.Audience(agent.Name, agent.Namespace),
		Keys:     in.TokenIssuer.Keys,
	}}
}

// hasDecisionPage reports whether people decide about calls of the agent on the page of the manager. The page does not know the
// certificate authorities of agents with TLS.
func hasDecisionPage(agent *a2av1alpha1.Agent, platform Platform) bool {
	return backendProtocol(agent) == sidecarconfig.ProtocolChatCompletions && platform.PageURL != "" && platform.IssuesTokens && agent.Spec.Access.TLS == nil
}
