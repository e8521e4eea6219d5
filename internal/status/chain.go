// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// verdict is the status, reason and message of a condition.
type verdict struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// typed is a verdict with the type of its condition.
type typed struct {
	condition string
	verdict   verdict
}

// facts are shared by the checks: the rollout, and the verdicts of the conditions
// before.
type facts struct {
	rollout  rollout
	verdicts []typed
}

// isTrue reports whether the verdict of a condition is True.
func (f *facts) isTrue(condition string) bool {
	for _, t := range f.verdicts {
		if t.condition == condition {
			return t.verdict.Status == metav1.ConditionTrue
		}
	}
	return false
}

// check returns the verdict of a condition, or false to leave it to the next check.
type check func(Inputs, *facts) (verdict, bool)

// chain has the checks of one condition. The first one that returns a verdict
// decides.
type chain []check

func (c chain) decide(in Inputs, f *facts) verdict {
	for _, check := range c {
		if v, decided := check(in, f); decided {
			return v
		}
	}
	return unknown(a2av1alpha1.ReasonPending, "Waiting for the operator")
}

// conditionChain defines a condition by its checks.
type conditionChain struct {
	condition string
	chain     chain
}

// workloadChains are the conditions of an Agent with a workload. Each depends on
// those before it.
var workloadChains = []conditionChain{
	{a2av1alpha1.ConditionAccepted, chain{
		problems(a2av1alpha1.ConditionAccepted),
		remarks(a2av1alpha1.ConditionAccepted),
		always(a2av1alpha1.ReasonAccepted, "The spec is valid"),
	}},
	{a2av1alpha1.ConditionSkillsResolved, chain{
		restApplied,
		problems(a2av1alpha1.ConditionSkillsResolved),
		remarks(a2av1alpha1.ConditionSkillsResolved),
		always(a2av1alpha1.ReasonResolved, "The operator found every skill"),
	}},
	{a2av1alpha1.ConditionProgrammed, chain{
		problems(a2av1alpha1.ConditionProgrammed),
		blocked,
		writeFailed,
		cardKept,
		remarks(a2av1alpha1.ConditionProgrammed),
		always(a2av1alpha1.ReasonProgrammed, "The Deployment and the other objects are in sync with the spec"),
	}},
	{a2av1alpha1.ConditionAvailable, chain{
		suspended,
		servesWhileRolloutFails,
		servesWithout("A pod is ready"),
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
		always(a2av1alpha1.ReasonPublished, "The ready pods have the card"),
	}},
	{a2av1alpha1.ConditionExposed, chain{
		clusterOnly,
		problems(a2av1alpha1.ConditionExposed),
		routesNotProgrammed,
		always(a2av1alpha1.ReasonExposed, "The Gateways route to the agent"),
	}},
	{a2av1alpha1.ConditionReady, chain{
		firstCause,
		rollingOut,
		servesWithout("The agent serves calls"),
		always(a2av1alpha1.ReasonReady, "The agent serves calls"),
	}},
}

// remoteChains are the conditions of a remote agent.
var remoteChains = []conditionChain{
	{a2av1alpha1.ConditionAccepted, chain{
		always(a2av1alpha1.ReasonAccepted, "The spec is valid"),
	}},
	{a2av1alpha1.ConditionSkillsResolved, chain{
		problems(a2av1alpha1.ConditionSkillsResolved),
		notReadYet(a2av1alpha1.ConditionSkillsResolved),
		noCardYet,
		always(a2av1alpha1.ReasonResolved, "The agent's own card has the skills"),
	}},
	{a2av1alpha1.ConditionProgrammed, chain{
		problems(a2av1alpha1.ConditionProgrammed),
		blocked,
		notReadYet(a2av1alpha1.ConditionProgrammed),
		cardNotWritten,
		always(a2av1alpha1.ReasonProgrammed, "The ConfigMap with the card is in sync"),
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
		always(a2av1alpha1.ReasonClusterOnly, "A remote agent is not exposed by Gateways"),
	}},
	{a2av1alpha1.ConditionReady, chain{
		firstCause,
		always(a2av1alpha1.ReasonReady, "The registry lists the agent, and the agent serves its card"),
	}},
}

// problems makes a condition False with the messages of its problems, and the reason
// of the first one.
func problems(condition string) check {
	return func(in Inputs, _ *facts) (verdict, bool) {
		return summed(in.Problems, condition, metav1.ConditionFalse)
	}
}

// remarks makes a condition True with the messages of its remarks, and the reason of
// the first one.
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

// always ends a chain with True.
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
