// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The conditions of an Agent. The operator sets all of them in every status
// that it writes. True is the healthy status of each.
const (
	// ConditionAccepted reports whether the spec is valid.
	ConditionAccepted = "Accepted"
	// ConditionSkillsResolved reports whether the operator found every skill of the
	// spec, and whether the skills fit on one card.
	ConditionSkillsResolved = "SkillsResolved"
	// ConditionProgrammed reports whether the Deployment, the Service, the
	// ServiceAccount and the ConfigMap are in sync with the spec.
	ConditionProgrammed = "Programmed"
	// ConditionAvailable reports whether at least one pod is ready, of the current
	// or of an earlier spec.
	ConditionAvailable = "Available"
	// ConditionCardPublished reports whether the ready pods have the current card.
	ConditionCardPublished = "CardPublished"
	// ConditionExposed reports whether the Gateways of spec.exposure route to the
	// agent. It is True for an Agent without spec.exposure.
	ConditionExposed = "Exposed"
	// ConditionReady summarizes the other conditions: it is True when all of them
	// are True and the pods run the current spec.
	ConditionReady = "Ready"
)

// AgentConditions returns the conditions of an Agent. Each depends on those
// before it.
func AgentConditions() []string {
	return []string{
		ConditionAccepted, ConditionSkillsResolved, ConditionProgrammed,
		ConditionAvailable, ConditionCardPublished, ConditionExposed, ConditionReady,
	}
}

// ConditionInUse reports whether at least one Agent lists an AgentSkill on its
// card. An AgentSkill has ConditionAccepted, too.
const ConditionInUse = "InUse"

// AgentSkillConditions returns the conditions of an AgentSkill.
func AgentSkillConditions() []string { return []string{ConditionAccepted, ConditionInUse} }
