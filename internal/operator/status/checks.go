// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// blocked makes Programmed False while the operator does not apply the spec: if Accepted is
// not True, or if SkillsResolved is not True. If the operator keeps the published card
// (Inputs.CardKept), SkillsResolved does not matter, because the rest of the spec is
// applied.
func blocked(in Inputs, f *facts) (verdict, bool) {
	if f.isTrue(a2av1alpha1.ConditionAccepted) && (f.isTrue(a2av1alpha1.ConditionSkillsResolved) || in.CardKept) {
		return verdict{}, false
	}
	switch {
	case in.Observed.Agent.Spec.Remote != nil:
		return isFalse(a2av1alpha1.ReasonBlocked, "The registry keeps the previous card until SkillsResolved is True; see its message"), true
	case f.isTrue(a2av1alpha1.ConditionAccepted):
		return isFalse(a2av1alpha1.ReasonBlocked, "The operator applies no object until SkillsResolved is True, because no card was published before; "+
			"see its message"), true
	default:
		return isFalse(a2av1alpha1.ReasonBlocked, "The operator applies only the number of pods (spec.suspend, spec.workload.replicas and "+
			"autoscaling), and keeps everything else, including the access rules, until Accepted is True; see its message"), true
	}
}

// restIsApplied is the end of the message of SkillsResolved while the operator keeps the
// published card.
const restIsApplied = "; the operator keeps the published card, and applies the rest of the spec"

// restApplied makes SkillsResolved False while the operator keeps the published card and
// applies the rest of the spec. Like the check problems, it builds the message from the
// problems of the condition. It truncates that part of the message, so that restIsApplied
// fits behind it.
func restApplied(in Inputs, f *facts) (verdict, bool) {
	v, wrong := problems(a2av1alpha1.ConditionSkillsResolved)(in, f)
	if !wrong || !in.CardKept {
		return verdict{}, false
	}
	v.Message = cut(v.Message, maxMessage-len(restIsApplied)) + restIsApplied
	return v, true
}

// cardKept makes Programmed True while the operator keeps the published card, because the
// rest of the spec is applied.
func cardKept(in Inputs, _ *facts) (verdict, bool) {
	return verdict{
		metav1.ConditionTrue, a2av1alpha1.ReasonCardKept,
		"The spec is applied, including spec.access, spec.limits, spec.networkPolicy, spec.pushNotifications, spec.suspend and the pod template; " +
			"the operator keeps the published card until SkillsResolved is True",
	}, in.CardKept
}

// cardNotCurrent makes CardPublished False while the operator keeps the published card,
// because the ready pods do not have the card of the current spec.
func cardNotCurrent(in Inputs, _ *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonCardKept,
		"The ready pods have the current access rules and limits, and the previous card; see SkillsResolved"), in.CardKept
}

// cardAwaitsPod makes CardPublished True while pods of an earlier spec serve with the card of their spec.
func cardAwaitsPod(in Inputs, _ *facts) (verdict, bool) {
	return verdict{
		metav1.ConditionTrue, a2av1alpha1.ReasonPublished,
		"The ready pods have the card of their own, earlier spec; the operator publishes the card of the current spec when a pod of it is ready",
	}, in.CardAwaitsPod
}

// writeFailed makes Programmed Unknown while the API server has not accepted every object.
// The operator retries the writes.
func writeFailed(in Inputs, _ *facts) (verdict, bool) {
	if in.Applied {
		return verdict{}, false
	}
	return unknown(a2av1alpha1.ReasonApplyFailed,
		"The API server has not accepted every object of the Agent yet; the operator retries. "+
			"If this persists, ask the administrator of the operator for the error in the manager's log"), true
}

func servesWhileRolloutFails(in Inputs, f *facts) (verdict, bool) {
	r := f.rollout
	if r.ready == 0 || !r.failing {
		return verdict{}, false
	}
	return verdict{metav1.ConditionTrue, r.reason, revisionRuns(in) + r.serving() + r.message}, true
}

// serving returns the beginning of a message about a rollout that does not end, while pods are ready.
func (r *rollout) serving() string {
	switch {
	case r.reason == a2av1alpha1.ReasonRolloutPaused:
		return "Pods of an earlier spec serve calls: "
	case r.currentReady:
		return "Other pods serve calls: "
	default:
		return "Pods of an earlier spec serve calls, and the pods of the current spec fail: "
	}
}

// contested makes Ready True with a reason of its own while others set fields of the Agent's objects again and again. A policy that changes each
// write, which the operator leaves as it is, takes nothing from the agent.
func contested(in Inputs, f *facts) (verdict, bool) {
	if !slices.ContainsFunc(in.Remarks, func(p state.Problem) bool { return p.Reason == a2av1alpha1.ReasonFieldsContested && !p.Settled }) {
		return verdict{}, false
	}
	for _, t := range f.verdicts {
		if t.condition == a2av1alpha1.ConditionProgrammed && t.verdict.Reason == a2av1alpha1.ReasonFieldsContested {
			return verdict{metav1.ConditionTrue, t.verdict.Reason, "The agent serves calls. " + t.verdict.Message}, true
		}
	}
	return verdict{}, false
}

// registryUnreachable makes a condition True with a reason of its own while the sidecar of a ready pod does not report
// to the registry.
func registryUnreachable(message string) check {
	return func(in Inputs, f *facts) (verdict, bool) {
		pod := f.rollout.silent
		namespace := in.Observed.Agent.Namespace
		what := "has been ready for two minutes, and its sidecar does not reach the registry"
		if f.rollout.silenced {
			what = "has reached the registry before, and its sidecar has not reported to it for two minutes"
		}
		return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonRegistryUnreachable, fmt.Sprintf(
			"%s. Pod %q %s; "+
				"check DNS, the NetworkPolicies and the ServiceAccount of the pod. kubectl logs -n %s %s -c %s shows the cause (health report failed)",
			message, pod, what, namespace, pod, a2av1alpha1.ContainerSidecar)}, pod != ""
	}
}

// foreignPodServes makes a condition True with a reason of its own while the Service routes calls to a pod
// that the Deployment did not make.
func foreignPodServes(message string) check {
	return func(in Inputs, f *facts) (verdict, bool) {
		r := f.rollout
		return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonForeignPodServes, fmt.Sprintf(
			"%s. Pod %q has the label %s=%s, and the Deployment of the Agent did not make it. The pod receives a part of the calls, with the credentials of their callers; "+
				"remove the label from the pod, or from the workload that makes it", message, r.foreign, a2av1alpha1.LabelAgent, in.Observed.Agent.Name)}, r.ready > 0 && r.foreign != ""
	}
}

func serves(_ Inputs, f *facts) (verdict, bool) {
	return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonAvailable, "A pod is ready"}, f.rollout.ready > 0
}

func suspended(in Inputs, _ *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonSuspended, "spec.suspend is true; set it to false to run the agent"), in.Observed.Agent.Spec.Suspend
}

func scaledToZero(in Inputs, _ *facts) (verdict, bool) {
	replicas := in.Observed.Agent.Spec.Workload.Replicas
	return isFalse(a2av1alpha1.ReasonScaledToZero,
		"spec.workload.replicas is 0; set it to 1 to run the agent"), replicas != nil && *replicas == 0
}

func rolloutFails(in Inputs, f *facts) (verdict, bool) {
	return isFalse(f.rollout.reason, revisionRuns(in)+f.rollout.message), f.rollout.failing
}

func starting(in Inputs, f *facts) (verdict, bool) {
	if f.rollout.reason != "" {
		return isFalse(f.rollout.reason, f.rollout.message), true
	}
	if in.Observed.Children.Deployment == nil && !in.Applied {
		return unknown(a2av1alpha1.ReasonPending, "The Deployment does not exist yet; see Programmed"), true
	}
	return isFalse(a2av1alpha1.ReasonRolloutInProgress, "The pod is starting"+f.rollout.formerRemark()), true
}

// formerRemark returns the end of a message about a rollout, if a pod of an earlier spec fails.
func (r *rollout) formerRemark() string {
	if r.former == "" {
		return ""
	}
	return "; a pod of an earlier spec fails until it is replaced: " + r.former
}

// notProgrammed returns a check that makes a condition False if the operator could not
// write objects. The message of the condition names the objects.
func notProgrammed(objects string) check {
	v := isFalse(a2av1alpha1.ReasonNotProgrammed, "The operator could not write the current "+objects+"; see Programmed")
	return func(in Inputs, f *facts) (verdict, bool) {
		return v, !in.Applied && !f.isTrue(a2av1alpha1.ConditionProgrammed)
	}
}

// clusterOnly makes Exposed True for an Agent without spec.exposure.
func clusterOnly(in Inputs, _ *facts) (verdict, bool) {
	return verdict{
		metav1.ConditionTrue, a2av1alpha1.ReasonClusterOnly,
		"spec.exposure is absent: the agent is reachable inside the cluster only",
	}, in.Observed.Agent.Spec.Exposure == nil
}

// behindProxy makes Exposed True for an Agent whose proxy is no Gateway. The operator cannot tell whether the proxy works.
func behindProxy(in Inputs, _ *facts) (verdict, bool) {
	exposure := in.Observed.Agent.Spec.Exposure
	return verdict{
		metav1.ConditionTrue, a2av1alpha1.ReasonExposed,
		"The card has spec.exposure.url; the operator does not manage or observe the proxy there",
	}, exposure != nil && len(exposure.ParentRefs) == 0
}

func noPodReady(_ Inputs, f *facts) (verdict, bool) {
	return isFalse(a2av1alpha1.ReasonNoPodReady, "No pod is ready to serve the card; see Available"), f.rollout.ready == 0
}

// publishing makes CardPublished False until every ready pod has the digest of the current
// sidecar configuration.
func publishing(in Inputs, _ *facts) (verdict, bool) {
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if takesCalls(pod) && pod.Annotations[a2av1alpha1.AnnotationConfigDigest] != in.Card.ConfigDigest {
			return isFalse(a2av1alpha1.ReasonPublishing, "The ready pods do not have the current card yet"), true
		}
	}
	return verdict{}, false
}

// consequences are the reasons of conditions that are False or Unknown because another
// condition is not True. firstCause prefers the reason of that other condition.
var consequences = []string{
	a2av1alpha1.ReasonPending, a2av1alpha1.ReasonBlocked, a2av1alpha1.ReasonNotProgrammed,
	a2av1alpha1.ReasonNoPodReady, a2av1alpha1.ReasonCardKept,
}

// firstCause makes Ready False or Unknown if another condition is not True. Such a
// condition is a consequence if its reason is in consequences, and otherwise a cause. Ready
// has the reason and message of the first cause. Ready is False if any cause is False,
// because an Unknown condition often waits for the cause of a False one. If all causes are
// Unknown, Ready is Unknown. Without a cause, Ready has the status, reason and message of
// the first consequence.
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

// rollingOut makes Ready False until all pods run the current spec.
func rollingOut(_ Inputs, f *facts) (verdict, bool) {
	r := f.rollout
	if r.complete {
		return verdict{}, false
	}
	if r.reason != "" {
		return isFalse(r.reason, "Pods of an earlier spec serve calls: "+r.message), true
	}
	return isFalse(a2av1alpha1.ReasonRolloutInProgress, "Pods of the current spec are starting, and pods of an earlier spec serve calls"+r.formerRemark()), true
}

// servesWithout returns a check that makes a condition True while a ready pod reports a
// failed dependency: the dependency was lost, or its new version is not usable. The
// condition has the reason of the dependency.
func servesWithout(message string) check {
	return func(_ Inputs, f *facts) (verdict, bool) {
		r := f.rollout
		return verdict{metav1.ConditionTrue, r.lostReason, message + ". " + r.lostMessage}, r.lostReason != ""
	}
}

// notReadYet returns a check that decides a condition of a remote agent while the operator
// has not read its card: after a start of the operator, or after a change of spec.remote.
// If the status has the condition for the current generation, the condition stays as it is.
// Otherwise the condition is Unknown. For a suspended Agent, the check does not decide,
// because the operator does not read its card.
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

// hasCard reports whether the operator has a card of the remote agent, or has published one
// before.
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
		return verdict{}, false // the ConfigMap keeps its card
	default:
		return writeFailed(in, f)
	}
}
