// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// blocked is about a spec of which nothing is applied: that of Accepted is false,
// or the skills cannot be resolved and no card was published before.
func blocked(in Inputs, f *facts) (verdict, bool) {
	if f.isTrue(a2av1alpha1.ConditionAccepted) && (f.isTrue(a2av1alpha1.ConditionSkillsResolved) || in.CardKept) {
		return verdict{}, false
	}
	switch {
	case in.Observed.Agent.Spec.Remote != nil:
		return isFalse(a2av1alpha1.ReasonBlocked, "The card that the registry lists stays as it is until SkillsResolved is true; see its message"), true
	case f.isTrue(a2av1alpha1.ConditionAccepted):
		return isFalse(a2av1alpha1.ReasonBlocked, "No object is made or changed until SkillsResolved is true, because no card was published before; "+
			"see its message"), true
	default:
		return isFalse(a2av1alpha1.ReasonBlocked, "Of the current spec only the number of pods is applied (spec.suspend, spec.workload.replicas and "+
			"autoscaling); every other object, the access rules included, stays as it is until Accepted is true; see its message"), true
	}
}

// restIsApplied ends what SkillsResolved says while the card is kept.
const restIsApplied = "; the card stays as it was published, and the rest of the spec is applied"

// restApplied is problems for an Agent whose card is kept. However much is wrong
// with the skills, there is room to say what is applied.
func restApplied(in Inputs, f *facts) (verdict, bool) {
	v, wrong := problems(a2av1alpha1.ConditionSkillsResolved)(in, f)
	if !wrong || !in.CardKept {
		return verdict{}, false
	}
	v.Message = cut(v.Message, maxMessage-len(restIsApplied)) + restIsApplied
	return v, true
}

// cardKept is about a spec that is applied but for its card.
func cardKept(in Inputs, _ *facts) (verdict, bool) {
	return verdict{
		metav1.ConditionTrue, a2av1alpha1.ReasonCardKept,
		"The spec is applied, with spec.access, spec.limits, spec.networkPolicy, spec.pushNotifications, spec.suspend and the pod template; " +
			"only the card stays as it was published, until SkillsResolved is true",
	}, in.CardKept
}

// cardNotCurrent is about pods that have the current spec but for its card.
func cardNotCurrent(in Inputs, _ *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonCardKept,
		"The pods that take calls have the current access rules and limits, and the card as it was published last; see SkillsResolved"), in.CardKept
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
		if takesCalls(pod) && pod.Annotations[a2av1alpha1.AnnotationConfigDigest] != in.Card.ConfigDigest {
			return isFalse(a2av1alpha1.ReasonPublishing, "The card is on its way to the pods"), true
		}
	}
	return verdict{}, false
}

// consequences are the reasons of a condition that is false because of another
// one. Ready names the cause.
var consequences = []string{
	a2av1alpha1.ReasonPending, a2av1alpha1.ReasonBlocked, a2av1alpha1.ReasonNotProgrammed,
	a2av1alpha1.ReasonNoPodReady, a2av1alpha1.ReasonCardKept,
}

// firstCause makes Ready tell of the first condition that is not true by itself.
// It is False, and not Unknown, as soon as one condition is False by itself: what
// is Unknown often waits for that very cause.
func firstCause(_ Inputs, f *facts) (verdict, bool) {
	var first, consequence *typed
	status := metav1.ConditionUnknown
	for i := range f.verdicts {
		t := &f.verdicts[i]
		switch {
		case t.verdict.Status == metav1.ConditionTrue:
		case slices.Contains(consequences, t.verdict.Reason):
			consequence = cmp.Or(consequence, t)
		default:
			first = cmp.Or(first, t)
			if t.verdict.Status == metav1.ConditionFalse {
				status = metav1.ConditionFalse
			}
		}
	}
	switch {
	case first != nil:
		return verdict{status, first.verdict.Reason, first.condition + ": " + first.verdict.Message}, true
	case consequence != nil:
		return verdict{consequence.verdict.Status, consequence.verdict.Reason, consequence.condition + ": " + consequence.verdict.Message}, true
	default:
		return verdict{}, false
	}
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
