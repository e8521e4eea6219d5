// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// notReadYet returns a check that applies until an operator that has just started has
// read the card. It keeps the condition of the current generation. Without one, the
// condition is Unknown.
func notReadYet(condition string) check {
	return func(in Inputs, _ *facts) (verdict, bool) {
		if in.Observed.Remote != nil || in.Observed.Agent.Spec.Suspend {
			return verdict{}, false
		}
		agent := in.Observed.Agent
		if c := meta.FindStatusCondition(agent.Status.Conditions, condition); c != nil && c.ObservedGeneration == agent.Generation {
			return verdict{c.Status, c.Reason, c.Message}, true
		}
		return unknown(a2av1alpha1.ReasonPending, "The operator has not read the agent's card yet"), true
	}
}

func remoteFails(in Inputs, _ *facts) (verdict, bool) {
	failure := in.Observed.Remote.Failure
	if failure == nil {
		return verdict{}, false
	}
	return isFalse(failure.Reason, failure.Message), true
}

// hasCard reports whether the operator has a card, or has published one before.
func hasCard(in Inputs) bool {
	return in.Card != nil || in.Observed.Agent.Status.CardDigest != ""
}

func noCardYet(in Inputs, _ *facts) (verdict, bool) {
	return unknown(a2av1alpha1.ReasonPending, "The operator could not read the agent's card yet; see Available"), !hasCard(in)
}

func cardNotWritten(in Inputs, f *facts) (verdict, bool) {
	switch {
	case !hasCard(in):
		return unknown(a2av1alpha1.ReasonPending, "The operator has no card to write yet; see Available"), true
	case in.Card == nil:
		return verdict{}, false // the card in the ConfigMap stays
	default:
		return writeFailed(in, f)
	}
}
