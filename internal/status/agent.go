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
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// Agent returns the whole status of an Agent.
func Agent(in Inputs) Result {
	agent := in.Observed.Agent
	next := a2av1alpha1.AgentStatus{
		URL:                agent.Status.URL,
		ExternalURL:        agent.Status.ExternalURL,
		CardDigest:         agent.Status.CardDigest,
		Skills:             agent.Status.Skills,
		Replicas:           countedPods(in),
		Selector:           names.Selector(agent.Name).String(),
		ObservedGeneration: agent.Generation,
		Conditions:         slices.Clone(agent.Status.Conditions),
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
	chains := workloadChains
	if agent.Spec.Remote != nil {
		chains = remoteChains
	}
	for _, owned := range chains {
		verdict := owned.chain.decide(in, &facts)
		facts.verdicts = append(facts.verdicts, typed{owned.condition, verdict})
		meta.SetStatusCondition(&next.Conditions, metav1.Condition{
			Type:               owned.condition,
			Status:             verdict.Status,
			Reason:             verdict.Reason,
			Message:            bounded(verdict.Message),
			ObservedGeneration: agent.Generation,
			LastTransitionTime: metav1.NewTime(in.Now),
		})
	}
	setStalled(&next.Conditions, stalled(in, &facts), agent.Generation, in.Now)
	result := Result{Status: next, RecheckAfter: facts.rollout.recheckAfter}
	result.holdCount(in)
	return result
}
