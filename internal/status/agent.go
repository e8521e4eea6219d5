// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of Agents and AgentSkills.
//
// It is pure: its inputs are the observed state, the user errors, the outcome of
// apply and the time. It sets every condition. A message says what failed, on which
// field or object, and what to do. It is bounded, and contains nothing that changes
// by itself, such as a time or a number of attempts.
package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// Inputs are the inputs of the status of an Agent.
type Inputs struct {
	// Observed is the state that the reconcile read.
	Observed clusterstate.Agent
	// Problems are the user errors in the spec, and failures that keep it from being
	// applied.
	Problems []usererror.Problem
	// Remarks give conditions that are True another reason and message.
	Remarks []usererror.Problem
	// Card is the card to publish, and nil if there is none.
	Card *Card
	// CardKept is true if Card is the kept card, and everything else is of the
	// current spec.
	CardKept bool
	// Applied is true if every object is in sync with the spec.
	Applied bool
	// DeploymentChanged is true if this reconcile wrote the Deployment, so that
	// Observed does not show it yet.
	DeploymentChanged bool
	// Now is the time.
	Now time.Time
}

// Card describes the card to publish.
type Card struct {
	URL string
	// ExternalURL is "" if no Gateway routes to the agent.
	ExternalURL  string
	CardDigest   string
	ConfigDigest string
	Skills       int32
}

// Result is a status, and when to reconcile again if no event comes before.
type Result struct {
	Status a2av1alpha1.AgentStatus
	// RecheckAfter is zero if only an event can change the status.
	RecheckAfter time.Duration
}

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
	// The published values stay while nothing can be applied.
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
	result := Result{Status: next, RecheckAfter: facts.rollout.recheckAfter}
	result.holdCount(in)
	return result
}

// maxMessage bounds a message, in bytes, so that a status stays readable. The limit
// of the API is much higher.
const maxMessage = 1024

// bounded truncates a message to maxMessage bytes.
func bounded(message string) string { return cut(message, maxMessage) }

// cut truncates a message to no more than most bytes, at a character boundary, and marks
// it with an ellipsis.
func cut(message string, most int) string {
	if len(message) <= most {
		return message
	}
	const ellipsis = "…"
	end := most - len(ellipsis)
	for end > 0 && message[end]&0xC0 == 0x80 {
		end--
	}
	return message[:end] + ellipsis
}
