// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The conditions that every Agent has. The operator sets all of them in every status
// that it writes. True is the healthy status of each.
const (
	// ConditionAccepted reports whether the spec is valid.
	ConditionAccepted = "Accepted"
	// ConditionSkillsResolved reports whether the operator found every skill of the
	// spec, and whether the skills fit on one card.
	ConditionSkillsResolved = "SkillsResolved"
	// ConditionProgrammed reports whether the objects of the Agent are in sync with
	// the spec. The routes at Gateways belong to ConditionExposed.
	ConditionProgrammed = "Programmed"
	// ConditionAvailable reports whether at least one pod is ready, of the current or
	// of an earlier spec, or whether a remote agent serves its card.
	ConditionAvailable = "Available"
	// ConditionCardPublished reports whether the ready pods have the current card, or
	// whether the registry lists the card of a remote agent.
	ConditionCardPublished = "CardPublished"
	// ConditionExposed reports whether the Gateways of spec.exposure route to the
	// agent. It is True for an Agent without spec.exposure.
	ConditionExposed = "Exposed"
	// ConditionReady summarizes the other conditions: it is True when all of them
	// are True and the pods run the current spec.
	ConditionReady = "Ready"
)

// ConditionStalled of an Agent or AgentSkill is True while the object cannot become
// ready before a user changes something: the spec is wrong, the API server rejects
// an object, or a rollout exceeded its deadline. Reason and message are those of
// the cause. Otherwise the condition is absent. Tools with kstatus, such as Flux,
// and the health check for Argo CD read it as a failure.
const ConditionStalled = "Stalled"

// ConditionToolsAvailable of an Agent reports whether the MCP servers of
// spec.model.tools offer their tools. The agent works without those of a server that
// is not required, so Ready does not depend on it. It is absent from an Agent that
// names no MCP server.
const ConditionToolsAvailable = "ToolsAvailable"

// ConditionManagedByAnotherOperator of an Agent is True while a second operator watches
// the Agent and leaves it alone, because status.operator names another one. The second
// operator sets it, and the first removes it after the second is gone.
const ConditionManagedByAnotherOperator = "ManagedByAnotherOperator"

// AgentConditions returns the conditions that every Agent has. The
// operator computes them in this order, because a condition can depend on the
// conditions before it.
func AgentConditions() []string {
	return []string{
		ConditionAccepted, ConditionSkillsResolved, ConditionProgrammed,
		ConditionAvailable, ConditionCardPublished, ConditionExposed, ConditionReady,
	}
}

// OptionalAgentConditions returns the conditions that only some Agents have.
func OptionalAgentConditions() []string {
	return []string{ConditionToolsAvailable, ConditionStalled}
}

// ConditionInUse reports whether at least one Agent uses an AgentSkill: it refers
// to the skill, and the skill admits it. An AgentSkill has ConditionAccepted, too.
const ConditionInUse = "InUse"

// AgentSkillConditions returns the conditions that every AgentSkill has: all but
// Stalled.
func AgentSkillConditions() []string { return []string{ConditionAccepted, ConditionInUse} }
