// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// chain contains the checks of one condition. The first check that returns a verdict
// decides. If no check decides, the condition is Unknown with the reason Pending.
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

// workloadChains define the conditions of an Agent with a workload. A check may use
// the verdicts of the conditions that precede its own in the list.
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
		rolledBack,
		cardKept,
		remarks(a2av1alpha1.ConditionProgrammed),
		always(a2av1alpha1.ReasonProgrammed, "The Deployment and the other objects are in sync with the spec"),
	}},
	{a2av1alpha1.ConditionAvailable, chain{
		suspended,
		servesWhileRolloutFails,
		foreignPodServes("A pod is ready"),
		servesWithout("A pod is ready"),
		registryUnreachable("A pod is ready"),
		serves,
		scaledToZero,
		rolloutFails,
		starting,
	}},
	{a2av1alpha1.ConditionCardPublished, chain{
		notProgrammed("card"),
		noPodReady,
		problems(a2av1alpha1.ConditionCardPublished),
		publishing,
		cardNotCurrent,
		cardAwaitsPod,
		always(a2av1alpha1.ReasonPublished, "The ready pods have the card"),
	}},
	{a2av1alpha1.ConditionExposed, chain{
		clusterOnly,
		problems(a2av1alpha1.ConditionExposed),
		notProgrammed("routes"),
		behindProxy,
		always(a2av1alpha1.ReasonExposed, "The Gateways route to the agent"),
	}},
	{a2av1alpha1.ConditionReady, chain{
		firstCause,
		rollingOut,
		foreignPodServes("The agent serves calls"),
		servesWithout("The agent serves calls"),
		registryUnreachable("The agent serves calls"),
		contested,
		always(a2av1alpha1.ReasonReady, "The agent serves calls"),
	}},
}

// remoteChains define the conditions of a remote agent.
var remoteChains = []conditionChain{
	{a2av1alpha1.ConditionAccepted, chain{
		problems(a2av1alpha1.ConditionAccepted),
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
		notProgrammed("card"),
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
