// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// decisionDelay is the delay after which a reconcile carries out the decision to return to a revision, or to try the spec
// again.
const decisionDelay = 10 * time.Millisecond

// nextRevisions returns the revisions in the status, without a revision that is yet to be recorded. It decides whether to
// return to the last good revision, and whether to try the spec again.
func nextRevisions(in Inputs, r *rollout) *a2av1alpha1.AgentRevisions {
	workload := in.Observed.Agent.Spec.Workload
	if workload == nil {
		return nil
	}
	var next a2av1alpha1.AgentRevisions
	if was := in.Observed.Agent.Status.Revisions; was != nil {
		next = *was
	}
	if in.SpecTemplate != "" || in.Runs != 0 {
		next.Running = in.Runs
	}
	if workload.OnFailure != a2av1alpha1.FailureRollBack || workload.Revision > 0 ||
		in.SpecTemplate != "" && in.SpecTemplate != next.FailedTemplate {
		next.FailedTemplate = ""
		next.Failure = ""
	}
	if rollBack(in, r, &next) {
		next.FailedTemplate = in.SpecTemplate
		next.Failure = cut(r.message, maxMessage/2)
	}
	if next == (a2av1alpha1.AgentRevisions{}) {
		return nil
	}
	return &next
}

// rollBack reports whether to return to the last good revision: the pods of the spec's template have not become ready in
// time, and the revision has another template.
func rollBack(in Inputs, r *rollout, revisions *a2av1alpha1.AgentRevisions) bool {
	workload := in.Observed.Agent.Spec.Workload
	if workload.OnFailure != a2av1alpha1.FailureRollBack || workload.Revision > 0 || in.Runs != 0 || !r.overdue {
		return false
	}
	d := in.Observed.Children.Deployment
	return in.SpecTemplate != "" && d.Spec.Template.Annotations[a2av1alpha1.AnnotationTemplateDigest] == in.SpecTemplate &&
		revisions.LastGood != 0 && revisions.LastGoodTemplate != in.SpecTemplate && revisions.FailedTemplate == ""
}

// failedTemplate returns the template digest that failed, "" for none.
func failedTemplate(revisions *a2av1alpha1.AgentRevisions) string {
	if revisions == nil {
		return ""
	}
	return revisions.FailedTemplate
}

// record reports whether what the spec describes must be kept as a new revision: the agent is ready with it.
func record(in Inputs, f *facts) bool {
	if in.Runs != 0 || in.RevisionDigest == "" || in.CardKept || in.CardAwaitsPod || !in.Applied || !f.rollout.complete || f.rollout.ready == 0 ||
		!f.isTrue(a2av1alpha1.ConditionReady) {
		return false
	}
	was := in.Observed.Agent.Status.Revisions
	return was == nil || was.LastGoodDigest != in.RevisionDigest
}

// rolledBack makes Programmed False while the last good revision runs in place of a spec whose pods did not become ready.
func rolledBack(in Inputs, _ *facts) (verdict, bool) {
	agent := in.Observed.Agent
	if in.Runs == 0 || agent.Spec.Workload.Revision > 0 {
		return verdict{}, false
	}
	failure := "the pods of the spec did not become ready"
	if agent.Status.Revisions != nil && agent.Status.Revisions.Failure != "" {
		failure = agent.Status.Revisions.Failure
	}
	return isFalse(a2av1alpha1.ReasonRolledBack, fmt.Sprintf("Revision %d runs in place of the spec, whose pods were not ready within spec.workload.progressDeadline (%s): %s; "+
		"correct spec.workload, and the operator tries the spec again", in.Runs, agent.Spec.Workload.ProgressDeadline, failure)), true
}

// revisionRuns returns the beginning of a message about pods, while they run a kept revision.
func revisionRuns(in Inputs) string {
	if in.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("Revision %d runs in place of the spec: ", in.Runs)
}
