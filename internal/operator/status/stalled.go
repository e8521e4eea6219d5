// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// stallReasons lists, for each condition, the reasons for which an Agent does not become
// ready until a user changes something. Other reasons wait for a pod, another object or a
// server, and can end while the spec stays the same. Such reasons must not be in the list,
// because GitOps tools stop at the first failure.
var stallReasons = map[string][]string{
	a2av1alpha1.ConditionAccepted: {
		a2av1alpha1.ReasonSpecPruned, a2av1alpha1.ReasonPortConflict, a2av1alpha1.ReasonNameConflict, a2av1alpha1.ReasonSidecarExposed,
		a2av1alpha1.ReasonInvalidPushTarget, a2av1alpha1.ReasonInvalidURL, a2av1alpha1.ReasonInvalidModelServerURL, a2av1alpha1.ReasonInvalidAuthorization,
		a2av1alpha1.ReasonUnknownSkillInRule, a2av1alpha1.ReasonNetworkPolicyRejected, a2av1alpha1.ReasonTemplateRejected,
		a2av1alpha1.ReasonSpecTooLarge, a2av1alpha1.ReasonRevisionNotFound,
	},
	a2av1alpha1.ConditionSkillsResolved: {
		a2av1alpha1.ReasonSpecPruned, a2av1alpha1.ReasonInvalidSchema, a2av1alpha1.ReasonDuplicateSkillID, a2av1alpha1.ReasonInvalidSelector,
		a2av1alpha1.ReasonCardTooLarge, a2av1alpha1.ReasonSpecTooLarge,
	},
	a2av1alpha1.ConditionProgrammed: {
		a2av1alpha1.ReasonConflict, a2av1alpha1.ReasonForbidden, a2av1alpha1.ReasonApplyFailed, a2av1alpha1.ReasonRolledBack,
	},
	a2av1alpha1.ConditionAvailable:     {a2av1alpha1.ReasonRemoteForbidden},
	a2av1alpha1.ConditionCardPublished: {a2av1alpha1.ReasonForbidden},
	a2av1alpha1.ConditionExposed: {
		a2av1alpha1.ReasonHostnameNotAllowed, a2av1alpha1.ReasonAddressConflict, a2av1alpha1.ReasonConflict, a2av1alpha1.ReasonForbidden,
	},
}

// stalled returns the first cause for which a user must change something, or nil if there is
// none. A failing rollout is a cause only after its Deployment has exceeded the progress
// deadline, as kstatus evaluates a Deployment. Before the deadline, a missing object or image
// may still appear.
func stalled(in Inputs, f *facts) *typed {
	for _, t := range f.verdicts {
		if t.condition == a2av1alpha1.ConditionReady {
			continue
		}
		if cause, found := stallingProblem(in, t); found {
			return &cause
		}
		if t.condition == a2av1alpha1.ConditionAvailable && f.rollout.overdue && !in.Observed.Agent.Spec.Suspend {
			return &typed{t.condition, isFalse(f.rollout.reason, f.rollout.message)}
		}
	}
	return nil
}

// stallingProblem returns the cause of a condition that is False for one of its stallReasons,
// and false if there is none.
func stallingProblem(in Inputs, t typed) (typed, bool) {
	if t.verdict.Status != metav1.ConditionFalse {
		return typed{}, false
	}
	reasons := stallReasons[t.condition]
	known := false
	for _, p := range in.Problems {
		if p.Condition != t.condition {
			continue
		}
		known = true
		if !p.Transient && slices.Contains(reasons, p.Reason) {
			return typed{t.condition, isFalse(p.Reason, p.Message)}, true
		}
	}
	// A condition without problems has its reason from another source, such as the failure to
	// read a remote card.
	return t, !known && slices.Contains(reasons, t.verdict.Reason)
}

// setStalled sets Stalled to True with the reason and message of a cause. If there is no
// cause, it removes Stalled.
func setStalled(conditions *[]metav1.Condition, cause *typed, generation int64, now time.Time) {
	if cause == nil {
		removeCondition(conditions, a2av1alpha1.ConditionStalled)
		return
	}
	v := verdict{metav1.ConditionTrue, cause.verdict.Reason, cause.condition + ": " + cause.verdict.Message}
	setCondition(conditions, a2av1alpha1.ConditionStalled, v, generation, now)
}
