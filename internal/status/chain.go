// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// verdict is what a condition says.
type verdict struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// typed is a verdict with the condition that it is about.
type typed struct {
	condition string
	verdict   verdict
}

// facts are what the checks share: the rollout, and what was decided before.
type facts struct {
	rollout  rollout
	verdicts []typed
}

// isTrue tells whether a condition was decided to be true.
func (f *facts) isTrue(condition string) bool {
	for _, t := range f.verdicts {
		if t.condition == condition {
			return t.verdict.Status == metav1.ConditionTrue
		}
	}
	return false
}

// check decides a condition, or leaves it to the next check.
type check func(Inputs, *facts) (verdict, bool)

// chain is the checks of one condition, the first that decides wins.
type chain []check

func (c chain) decide(in Inputs, f *facts) verdict {
	for _, check := range c {
		if v, decided := check(in, f); decided {
			return v
		}
	}
	return unknown(a2av1alpha1.ReasonPending, "Waiting for the operator")
}

// conditionChain is a condition; the list of checks is its definition.
type conditionChain struct {
	condition string
	chain     chain
}

// workloadChains are the conditions of an agent with a workload, in the order in
// which they build on each other.
var workloadChains = []conditionChain{
	{a2av1alpha1.ConditionAccepted, chain{
		problems(a2av1alpha1.ConditionAccepted),
		remarks(a2av1alpha1.ConditionAccepted),
		always(a2av1alpha1.ReasonAccepted, "The spec can be carried out"),
	}},
	{a2av1alpha1.ConditionSkillsResolved, chain{
		restApplied,
		problems(a2av1alpha1.ConditionSkillsResolved),
		remarks(a2av1alpha1.ConditionSkillsResolved),
		always(a2av1alpha1.ReasonResolved, "Every skill was found"),
	}},
	{a2av1alpha1.ConditionProgrammed, chain{
		problems(a2av1alpha1.ConditionProgrammed),
		blocked,
		writeFailed,
		cardKept,
		remarks(a2av1alpha1.ConditionProgrammed),
		always(a2av1alpha1.ReasonProgrammed, "The Deployment and what goes with it are as the spec wants them"),
	}},
	{a2av1alpha1.ConditionAvailable, chain{
		suspended,
		servesWhileRolloutFails,
		servesWithout("A pod takes calls"),
		serves,
		scaledToZero,
		rolloutFails,
		starting,
	}},
	{a2av1alpha1.ConditionCardPublished, chain{
		notProgrammed,
		noPodReady,
		problems(a2av1alpha1.ConditionCardPublished),
		publishing,
		cardNotCurrent,
		always(a2av1alpha1.ReasonPublished, "The pods that take calls have the card"),
	}},
	{a2av1alpha1.ConditionExposed, chain{
		clusterOnly,
		problems(a2av1alpha1.ConditionExposed),
		routesNotProgrammed,
		always(a2av1alpha1.ReasonExposed, "The Gateways lead to the agent"),
	}},
	{a2av1alpha1.ConditionReady, chain{
		firstCause,
		rollingOut,
		servesWithout("The agent takes calls"),
		always(a2av1alpha1.ReasonReady, "The agent takes calls"),
	}},
}

// remoteChains are the same of an agent that runs elsewhere.
var remoteChains = []conditionChain{
	{a2av1alpha1.ConditionAccepted, chain{
		always(a2av1alpha1.ReasonAccepted, "The spec can be carried out"),
	}},
	{a2av1alpha1.ConditionSkillsResolved, chain{
		problems(a2av1alpha1.ConditionSkillsResolved),
		notReadYet(a2av1alpha1.ConditionSkillsResolved),
		noCardYet,
		always(a2av1alpha1.ReasonResolved, "The skills are those of the agent's own card"),
	}},
	{a2av1alpha1.ConditionProgrammed, chain{
		problems(a2av1alpha1.ConditionProgrammed),
		blocked,
		notReadYet(a2av1alpha1.ConditionProgrammed),
		cardNotWritten,
		always(a2av1alpha1.ReasonProgrammed, "The card is where the registry reads it"),
	}},
	{a2av1alpha1.ConditionAvailable, chain{
		suspended,
		notReadYet(a2av1alpha1.ConditionAvailable),
		remoteFails,
		remarks(a2av1alpha1.ConditionAvailable),
		always(a2av1alpha1.ReasonAvailable, "The agent serves its card"),
	}},
	{a2av1alpha1.ConditionCardPublished, chain{
		notProgrammed,
		always(a2av1alpha1.ReasonPublished, "The registry lists the card"),
	}},
	{a2av1alpha1.ConditionExposed, chain{
		always(a2av1alpha1.ReasonClusterOnly, "The agent is where spec.remote says: no Gateway leads to it"),
	}},
	{a2av1alpha1.ConditionReady, chain{
		firstCause,
		always(a2av1alpha1.ReasonReady, "The agent can be found, and answers"),
	}},
}

// problems makes a condition false with all that is wrong about it; the reason
// is the first one's.
func problems(condition string) check {
	return func(in Inputs, _ *facts) (verdict, bool) {
		return summed(in.Problems, condition, metav1.ConditionFalse)
	}
}

// remarks makes a condition true with a reason of its own.
func remarks(condition string) check {
	return func(in Inputs, _ *facts) (verdict, bool) {
		return summed(in.Remarks, condition, metav1.ConditionTrue)
	}
}

func summed(all []usererror.Problem, condition string, status metav1.ConditionStatus) (verdict, bool) {
	var reason string
	var messages []string
	for _, p := range all {
		if p.Condition != condition {
			continue
		}
		if reason == "" {
			reason = p.Reason
		}
		messages = append(messages, p.Message)
	}
	return verdict{status, reason, strings.Join(messages, "; ")}, reason != ""
}

// always ends a chain well.
func always(reason, message string) check {
	return func(Inputs, *facts) (verdict, bool) {
		return verdict{metav1.ConditionTrue, reason, message}, true
	}
}

func isFalse(reason, message string) verdict {
	return verdict{metav1.ConditionFalse, reason, message}
}

func unknown(reason, message string) verdict {
	return verdict{metav1.ConditionUnknown, reason, message}
}
