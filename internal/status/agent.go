// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status says what is to be told about an Agent.
//
// It is pure: from what was observed, wanted and done, and from the time, it
// makes the whole status. Every condition is always set. Messages name the
// field and the cure, are bounded, and hold nothing that changes by itself,
// such as a time or a number of attempts.
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

// Inputs are all that the status of an Agent is made from.
type Inputs struct {
	// Observed is what the reconcile has read.
	Observed clusterstate.Agent
	// Problems are the mistakes in the spec, and what else keeps it from being
	// carried out.
	Problems []usererror.Problem
	// Remarks stand on conditions that are true.
	Remarks []usererror.Problem
	// Card is what is to be published. It is nil when nothing can be.
	Card *Card
	// CardKept tells that Card is the one that was published last, and that
	// everything else is of the current spec.
	CardKept bool
	// Applied is true when every object is as the spec wants it.
	Applied bool
	// DeploymentChanged is true when Observed does not yet show what this
	// reconcile wrote.
	DeploymentChanged bool
	// Now is the time.
	Now time.Time
}

// Card is what is to be published.
type Card struct {
	URL string
	// ExternalURL is "" when no Gateway leads to the agent.
	ExternalURL    string
	CardDigest     string
	ConfigDigest string
	Skills         int32
}

// Result is a status, and when to look again if nothing happens before.
type Result struct {
	Status a2av1alpha1.AgentStatus
	// RecheckAfter is zero when only an event can change the status.
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
	// What is published stays where nothing can be applied.
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

// maxMessage keeps a status readable, in bytes. It is far below the API's limit.
const maxMessage = 1024

// bounded cuts a message off after maxMessage bytes, between characters.
func bounded(message string) string { return cut(message, maxMessage) }

// cut shortens a message to a number of bytes, between characters.
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
