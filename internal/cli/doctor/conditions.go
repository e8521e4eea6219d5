// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// waitLimit is the time after which a transient condition becomes a problem.
const waitLimit = 10 * time.Minute

// derived are the reasons of a condition that waits for another condition.
var derived = []string{
	a2av1alpha1.ReasonBlocked, a2av1alpha1.ReasonNotProgrammed, a2av1alpha1.ReasonNoPodReady, a2av1alpha1.ReasonCardKept,
}

// checkConditions returns a finding for each condition that reports a problem, and for each condition that is True
// and whose reason requires an action. It reports a condition that waits for another condition only if no other
// finding has a condition that is False or Unknown.
func checkConditions(shared *SharedFacts, f *AgentFacts) []Finding {
	agent := f.Agent
	if out, found := notReconciled(shared, agent); found {
		return out
	}
	var findings []Finding
	var waiting []metav1.Condition
	broken := false
	for _, name := range []string{
		a2av1alpha1.ConditionAccepted, a2av1alpha1.ConditionSkillsResolved, a2av1alpha1.ConditionProgrammed, a2av1alpha1.ConditionAvailable,
		a2av1alpha1.ConditionCardPublished, a2av1alpha1.ConditionExposed, a2av1alpha1.ConditionManagedByAnotherOperator,
		a2av1alpha1.ConditionToolsAvailable, a2av1alpha1.ConditionReady,
	} {
		c := meta.FindStatusCondition(agent.Status.Conditions, name)
		switch {
		case c == nil:
		case slices.Contains(derived, c.Reason) || name == a2av1alpha1.ConditionReady && c.Status != metav1.ConditionTrue,
			c.Reason == a2av1alpha1.ReasonPending:
			waiting = append(waiting, *c)
		default:
			if finding, found := conditionFinding(shared, agent, c); found {
				broken = broken || c.Status != metav1.ConditionTrue
				findings = merge(findings, []Finding{finding})
			}
		}
	}
	if !broken {
		for i := range waiting {
			if finding, found := conditionFinding(shared, agent, &waiting[i]); found {
				findings = merge(findings, []Finding{finding})
			}
		}
	}
	return orOkay(findings, "conditions", "every condition is as expected")
}

// notReconciled finds an Agent that the manager has not reconciled since its last change.
func notReconciled(shared *SharedFacts, agent *a2av1alpha1.Agent) ([]Finding, bool) {
	ready := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionReady)
	if ready != nil && agent.Status.ObservedGeneration >= agent.Generation {
		return nil, false
	}
	seen := "the Agent has no conditions"
	if ready != nil {
		seen = fmt.Sprintf("the status is of generation %d, and the spec of generation %d", agent.Status.ObservedGeneration, agent.Generation)
	}
	if ready != nil && ready.Reason == a2av1alpha1.ReasonPending {
		seen = "Ready is Unknown: Pending"
	}
	finding := Finding{
		Level: LevelWarning, Check: "conditions", Reason: a2av1alpha1.ReasonPending, Seen: []string{seen},
		Cause:   advices[a2av1alpha1.ReasonPending].means,
		Cure:    advices[a2av1alpha1.ReasonPending].action,
		Command: "kubectl get deployments -A -l " + managerSelector,
	}
	if shared.Now.Sub(lastChange(agent)) > time.Minute {
		finding.Level = LevelProblem
	}
	return []Finding{finding}, true
}

// lastChange returns when the spec changed last.
func lastChange(agent *a2av1alpha1.Agent) time.Time {
	last := agent.CreationTimestamp.Time
	for _, each := range agent.ManagedFields {
		if each.Subresource == "" && each.Time != nil && each.Time.After(last) {
			last = each.Time.Time
		}
	}
	return last
}

// conditionFinding returns the finding for a condition, and false for a condition that is in order.
func conditionFinding(shared *SharedFacts, agent *a2av1alpha1.Agent, c *metav1.Condition) (Finding, bool) {
	text := advices[c.Reason]
	finding := Finding{
		Check: "condition " + c.Type, Reason: c.Reason, Seen: []string{fmt.Sprintf("%s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)},
		Cause: text.means, Cure: text.action, Command: commandFor(shared, agent, c),
	}
	switch {
	case c.Status == metav1.ConditionTrue && (text.action == "" || strings.HasPrefix(text.action, "None")):
		return Finding{}, false
	case c.Status == metav1.ConditionTrue, c.Reason == a2av1alpha1.ReasonSuspended, c.Reason == a2av1alpha1.ReasonScaledToZero:
		finding.Level = LevelWarning
	case c.Type == a2av1alpha1.ConditionToolsAvailable && meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionReady):
		finding.Level = LevelWarning // the model works without these tools
	case isTransient(text) && shared.Now.Sub(c.LastTransitionTime.Time) < waitLimit:
		finding.Level = LevelWarning
	default:
		finding.Level = LevelProblem
	}
	if finding.Cause == "" { // the manager is newer than the CLI
		finding.Cause = "This version of kubectl a2a has no description of this reason."
		finding.Cure = "Follow the message of the condition. The version of kubectl a2a that matches the manager describes the reason."
	}
	return finding, true
}

// isTransient reports whether a condition with the reason resolves without an action of the user.
func isTransient(text advice) bool { return strings.HasPrefix(text.action, "Wait") }

// podReasons are the reasons for which `kubectl describe pods` shows details.
var podReasons = []string{
	a2av1alpha1.ReasonContainerNotReady, a2av1alpha1.ReasonReadinessGateNotMet, a2av1alpha1.ReasonImagePullFailed, a2av1alpha1.ReasonRunsAsRoot,
	a2av1alpha1.ReasonContainerConfigInvalid, a2av1alpha1.ReasonContainerCannotStart, a2av1alpha1.ReasonUnschedulable, a2av1alpha1.ReasonPodFailed,
	a2av1alpha1.ReasonProgressDeadlineExceeded, a2av1alpha1.ReasonPodNotStarting, a2av1alpha1.ReasonNodeNotReady, a2av1alpha1.ReasonForeignPodServes,
}

// logReasons are the reasons for which the logs of the pods show details.
var logReasons = []string{
	a2av1alpha1.ReasonContainerCrashing, a2av1alpha1.ReasonAgentNotListening, a2av1alpha1.ReasonAgentStarting, a2av1alpha1.ReasonAgentCardNotServed,
	a2av1alpha1.ReasonModelServerUnreachable, a2av1alpha1.ReasonTaskStoreUnavailable, a2av1alpha1.ReasonTaskStoreCredentialsUnusable,
	a2av1alpha1.ReasonIssuerKeysUnavailable, a2av1alpha1.ReasonConfigurationRejected, a2av1alpha1.ReasonTLSUnusable, a2av1alpha1.ReasonCABundleUnusable,
	a2av1alpha1.ReasonAPIKeysUnusable, a2av1alpha1.ReasonModelAPIKeyUnusable, a2av1alpha1.ReasonCardSigningKeyUnusable,
}

// managerReasons are the reasons for which the manager's log shows details.
var managerReasons = []string{
	a2av1alpha1.ReasonPending, a2av1alpha1.ReasonApplyFailed, a2av1alpha1.ReasonForbidden, a2av1alpha1.ReasonWaitingForIssuerKeys,
	a2av1alpha1.ReasonWaitingForTokenKeys, a2av1alpha1.ReasonGatewayAPIUnreadable,
}

// routeReasons are the reasons for which the HTTPRoute shows details.
var routeReasons = []string{
	a2av1alpha1.ReasonGatewayNotFound, a2av1alpha1.ReasonRoutePending, a2av1alpha1.ReasonRouteNotAccepted, a2av1alpha1.ReasonHostnameNotAllowed, a2av1alpha1.ReasonAddressConflict,
	a2av1alpha1.ReasonAddressUnknown,
}

// commandFor returns a command that shows more about the reason of a condition.
func commandFor(shared *SharedFacts, agent *a2av1alpha1.Agent, c *metav1.Condition) string {
	namespaced := "-n " + agent.Namespace + " "
	switch {
	case slices.Contains(podReasons, c.Reason):
		return "kubectl describe pods " + namespaced + "-l " + a2av1alpha1.LabelAgent + "=" + agent.Name
	case c.Reason == a2av1alpha1.ReasonPodsRejected:
		return "kubectl describe replicasets " + namespaced + "-l " + a2av1alpha1.LabelAgent + "=" + agent.Name
	case slices.Contains(logReasons, c.Reason):
		return "kubectl logs " + namespaced + "-l " + a2av1alpha1.LabelAgent + "=" + agent.Name + " --all-containers --prefix --tail 50"
	case slices.Contains(managerReasons, c.Reason):
		return "kubectl logs -n " + shared.operatorNamespace() + " -l " + managerSelector + " --tail 50"
	case slices.Contains(routeReasons, c.Reason):
		return "kubectl describe httproute " + namespaced + names.HTTPRoute(agent.Name)
	case c.Reason == a2av1alpha1.ReasonGatewayAPIMissing:
		return "kubectl get crds -o name | grep gateway.networking.k8s.io"
	case c.Reason == a2av1alpha1.ReasonSuspended:
		return "kubectl patch agent " + namespaced + agent.Name + ` --type merge -p '{"spec":{"suspend":false}}'`
	case c.Reason == a2av1alpha1.ReasonScaledToZero:
		return "kubectl scale agent " + namespaced + agent.Name + " --replicas 1"
	case c.Reason == a2av1alpha1.ReasonRolloutPaused:
		return "kubectl rollout resume deployment " + namespaced + names.Deployment(agent.Name)
	case c.Reason == a2av1alpha1.ReasonRegistryUnreachable:
		return "kubectl logs " + namespaced + "-l " + a2av1alpha1.LabelAgent + "=" + agent.Name + " -c " + a2av1alpha1.ContainerSidecar + " --prefix --tail 50"
	case c.Reason == a2av1alpha1.ReasonFieldsContested, c.Reason == a2av1alpha1.ReasonFieldsAdded:
		return "kubectl get deployment " + namespaced + names.Deployment(agent.Name) + " -o yaml --show-managed-fields"
	case c.Reason == a2av1alpha1.ReasonWebhookFailed:
		return "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations"
	case c.Reason == a2av1alpha1.ReasonRolloutInProgress:
		return "kubectl rollout status deployment " + namespaced + agent.Name
	case c.Reason == a2av1alpha1.ReasonSkillNotFound, c.Reason == a2av1alpha1.ReasonDuplicateSkillID, c.Reason == a2av1alpha1.ReasonInvalidSchema:
		return "kubectl get agentskills -A"
	case c.Reason == a2av1alpha1.ReasonAutoscalerInactive:
		return "kubectl describe hpa " + namespaced + agent.Name
	case slices.Contains(faultsOutsideSpec, c.Type):
		return "kubectl describe agent " + namespaced + agent.Name
	default:
		return "kubectl edit agent " + namespaced + agent.Name
	}
}

// faultsOutsideSpec are the conditions whose faults are not in the spec of the Agent.
var faultsOutsideSpec = []string{
	a2av1alpha1.ConditionAvailable, a2av1alpha1.ConditionCardPublished, a2av1alpha1.ConditionProgrammed, a2av1alpha1.ConditionReady,
}
