// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of Agents and AgentSkills.
//
// The package is pure: its inputs are the observed state, the user errors, the outcome of
// apply and the time. It sets every condition. A message says what failed, on which field
// or object, and what to do. A message has a maximum length, and contains no value that
// changes by itself, such as a time or a number of attempts.
package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Agent returns the whole status of an Agent.
func Agent(in Inputs) Result {
	agent := in.Observed.Agent
	next := a2av1alpha1.AgentStatus{
		Operator:           agent.Status.Operator,
		URL:                agent.Status.URL,
		ExternalURL:        agent.Status.ExternalURL,
		CardDigest:         agent.Status.CardDigest,
		Skills:             agent.Status.Skills,
		Replicas:           countedPods(in),
		Selector:           names.Selector(agent.Name).String(),
		ObservedGeneration: agent.Generation,
		Conditions:         slices.Clone(agent.Status.Conditions),

		ObservedSpecDigest:       agent.Status.ObservedSpecDigest,
		ObservedSchemaGeneration: agent.Status.ObservedSchemaGeneration,
	}
	if observed := &in.Observed.Observed; len(observed.Lost) == 0 {
		next.ObservedSpecDigest = observed.Digest
		next.ObservedSchemaGeneration = observed.SchemaGeneration
	}
	// The status keeps the published values while no new card is applied.
	if in.Card != nil && in.Applied {
		next.URL = in.Card.URL
		next.ExternalURL = in.Card.ExternalURL
		next.CardDigest = in.Card.CardDigest
		next.Skills = &in.Card.Skills
	}

	var facts facts
	facts.rollout = observeRollout(in)
	next.Images = runningImages(in)
	next.Revisions = nextRevisions(in, &facts.rollout)
	chains := workloadChains
	if agent.Spec.Remote != nil {
		chains = remoteChains
	}
	for _, owned := range chains {
		verdict := owned.chain.decide(in, &facts)
		facts.verdicts = append(facts.verdicts, typed{owned.condition, verdict})
		setCondition(&next.Conditions, owned.condition, verdict, agent.Generation, in.Now)
	}
	setToolsAvailable(&next.Conditions, in)
	setStalled(&next.Conditions, stalled(in, &facts), agent.Generation, in.Now)
	result := Result{Status: next, RecheckAfter: facts.rollout.recheckAfter}
	if due := facts.rollout.reportDue; due > 0 && (result.RecheckAfter == 0 || due < result.RecheckAfter) {
		result.RecheckAfter = due
	}
	if failedTemplate(next.Revisions) != failedTemplate(agent.Status.Revisions) {
		result.RecheckAfter = decisionDelay
	}
	result.Record = record(in, &facts)
	result.holdCount(in)
	return result
}

// AgentSkill returns the whole status of an AgentSkill. agents is the number of Agents
// that refer to the skill and may use it. observed is the comparison of its spec.
func AgentSkill(skill *a2av1alpha1.AgentSkill, observed crdschema.Observed, agents int32, now time.Time) a2av1alpha1.AgentSkillStatus {
	next := a2av1alpha1.AgentSkillStatus{
		Operator:           skill.Status.Operator,
		Conditions:         slices.Clone(skill.Status.Conditions),
		Agents:             &agents,
		ObservedGeneration: skill.Generation,

		ObservedSpecDigest:       skill.Status.ObservedSpecDigest,
		ObservedSchemaGeneration: skill.Status.ObservedSchemaGeneration,
	}
	if len(observed.Lost) == 0 {
		next.ObservedSpecDigest = observed.Digest
		next.ObservedSchemaGeneration = observed.SchemaGeneration
	}
	accepted := skillAccepted(skill, observed)
	setCondition(&next.Conditions, a2av1alpha1.ConditionAccepted, accepted, skill.Generation, now)
	setCondition(&next.Conditions, a2av1alpha1.ConditionInUse, skillInUse(agents), skill.Generation, now)
	var cause *typed
	if accepted.Status == metav1.ConditionFalse {
		cause = &typed{a2av1alpha1.ConditionAccepted, accepted}
	}
	setStalled(&next.Conditions, cause, skill.Generation, now)
	return next
}

func skillAccepted(skill *a2av1alpha1.AgentSkill, observed crdschema.Observed) verdict {
	if size := state.DescribeTooLarge(skill); size != "" {
		return isFalse(a2av1alpha1.ReasonSpecTooLarge, fmt.Sprintf("The spec %s; shorten it. Until then the cards of its Agents are not updated", size))
	}
	if reason, message := crdschema.Untrusted(observed, skill.Generation); reason != "" {
		return isFalse(reason, message)
	}
	schemas := agentskill.Budget{Namespace: skill.Namespace}
	if invalid := schemas.Check(&skill.Spec.SkillDetails); invalid != nil {
		return isFalse(a2av1alpha1.ReasonInvalidSchema, fmt.Sprintf("spec.%s; correct it. Until then the cards of its Agents are not updated", invalid))
	}
	return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonAccepted, "The skill is valid"}
}

// skillInUse returns the verdict of the condition InUse. Its message omits the number of
// Agents, which is in the status, because otherwise the message would change with every
// Agent.
func skillInUse(agents int32) verdict {
	if agents == 0 {
		return isFalse(a2av1alpha1.ReasonNotInUse,
			"No Agent uses the skill. To use it, an Agent that the skill admits must name it in spec.skillRefs or select it with spec.skillSelector")
	}
	return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonInUse, "At least one Agent uses the skill"}
}
