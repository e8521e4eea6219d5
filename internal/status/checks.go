// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// blocked leaves the objects as they are when the spec cannot be carried out.
func blocked(in Inputs, f *facts) (verdict, bool) {
	if f.isTrue(a2av1alpha1.ConditionAccepted) && f.isTrue(a2av1alpha1.ConditionSkillsResolved) {
		return verdict{}, false
	}
	what := "What runs is left as it is, but for the number of pods,"
	if in.Observed.Agent.Spec.Remote != nil {
		what = "What is there is left as it is"
	}
	return isFalse(a2av1alpha1.ReasonBlocked, what+
		" until Accepted and SkillsResolved are true; see their messages"), true
}

// writeFailed is a failure of the system: it is tried again.
func writeFailed(in Inputs, _ *facts) (verdict, bool) {
	if in.Applied {
		return verdict{}, false
	}
	return unknown(a2av1alpha1.ReasonApplyFailed,
		"The API server has not taken every object of the Agent yet; the operator tries again; "+
			"if this stays, ask who installed the operator, whose log has the error"), true
}

func servesWhileRolloutFails(_ Inputs, f *facts) (verdict, bool) {
	r := f.rollout
	if r.ready == 0 || !r.failing {
		return verdict{}, false
	}
	return verdict{
		metav1.ConditionTrue, r.reason,
		"Pods of an earlier spec take calls, because those of the current one do not: " + r.message,
	}, true
}

func serves(_ Inputs, f *facts) (verdict, bool) {
	return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonAvailable, "A pod takes calls"}, f.rollout.ready > 0
}

func suspended(in Inputs, _ *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonSuspended, "spec.suspend is true; set it to false to run the agent"), in.Observed.Agent.Spec.Suspend
}

func scaledToZero(in Inputs, _ *facts) (verdict, bool) {
	replicas := in.Observed.Agent.Spec.Workload.Replicas
	return isFalse(a2av1alpha1.ReasonScaledToZero,
		"spec.workload.replicas is 0; set it to 1 to run the agent"), replicas != nil && *replicas == 0
}

func rolloutFails(_ Inputs, f *facts) (verdict, bool) {
	return isFalse(f.rollout.reason, f.rollout.message), f.rollout.failing
}

func starting(in Inputs, f *facts) (verdict, bool) {
	if f.rollout.reason != "" {
		return isFalse(f.rollout.reason, f.rollout.message), true
	}
	if in.Observed.Children.Deployment == nil && !in.Applied {
		return unknown(a2av1alpha1.ReasonPending, "There is no Deployment yet; see Programmed"), true
	}
	return isFalse(a2av1alpha1.ReasonRolloutInProgress, "The pod is starting"), true
}

// notProgrammed says nothing about a card that could not be written.
func notProgrammed(in Inputs, f *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonNotProgrammed,
		"The current card could not be written; see Programmed"), !in.Applied && !f.isTrue(a2av1alpha1.ConditionProgrammed)
}

// clusterOnly has nothing to wait for.
func clusterOnly(in Inputs, _ *facts) (verdict, bool) {
	return verdict{
		metav1.ConditionTrue, a2av1alpha1.ReasonClusterOnly,
		"spec.exposure is absent: the agent is called inside the cluster",
	}, in.Observed.Agent.Spec.Exposure == nil
}

// routesNotProgrammed says nothing about routes that may not be the current
// ones.
func routesNotProgrammed(in Inputs, f *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonNotProgrammed,
		"The current routes could not be written; see Programmed"), !in.Applied && !f.isTrue(a2av1alpha1.ConditionProgrammed)
}

func noPodReady(_ Inputs, f *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonNoPodReady, "No pod is there to serve the card; see Available"), f.rollout.ready == 0
}

// publishing waits for the ready pods to carry the digest of the contract.
func publishing(in Inputs, _ *facts) (verdict, bool) {
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if takesCalls(pod) && pod.Annotations[a2av1alpha1.AnnotationContractDigest] != in.Card.ContractDigest {
			return isFalse(a2av1alpha1.ReasonPublishing, "The card is on its way to the pods"), true
		}
	}
	return verdict{}, false
}

// firstThatIsNotTrue makes Ready what the first condition is that is in its way.
func firstThatIsNotTrue(_ Inputs, f *facts) (verdict, bool) {
	for _, t := range f.verdicts {
		if t.verdict.Status != metav1.ConditionTrue {
			return verdict{t.verdict.Status, t.verdict.Reason, t.condition + ": " + t.verdict.Message}, true
		}
	}
	return verdict{}, false
}

// rollingOut keeps Ready from being true of a spec that does not run yet.
func rollingOut(_ Inputs, f *facts) (verdict, bool) {
	r := f.rollout
	if r.complete {
		return verdict{}, false
	}
	if r.reason != "" {
		return isFalse(r.reason, "Pods of an earlier spec take calls: "+r.message), true
	}
	return isFalse(a2av1alpha1.ReasonRolloutInProgress, "Pods of the current spec are starting while earlier ones take calls"), true
}
