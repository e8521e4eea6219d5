// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// notReadYet keeps a condition while an operator that has just started has not read
// the card yet. For a new generation of the spec the condition is Unknown.
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

// hasCard reports whether a card is known or was published before.
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
		return verdict{}, false // the card that was written before stays
	default:
		return writeFailed(in, f)
	}
}
