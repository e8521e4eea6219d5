// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// reasonFailedHook is the reason of the kubelet's events about a preStop hook that failed.
const reasonFailedHook = "FailedPreStopHook"

// isOfAgent reports whether an event is about a pod of an Agent's Deployment. The pod may not exist any more.
func isOfAgent(event *corev1.Event, agent *a2av1alpha1.Agent) bool {
	hash, isPod := strings.CutPrefix(event.InvolvedObject.Name, names.Deployment(agent.Name)+"-")
	return isPod && event.InvolvedObject.Namespace == agent.Namespace && strings.Count(hash, "-") == 1
}

// checkHooks finds requests of the kubelet for the operator's preStop hook that failed.
func checkHooks(_ *SharedFacts, f *AgentFacts) []Finding {
	if len(f.FailedHooks) == 0 || f.Deployment == nil || len(f.Deployment.Spec.Template.Spec.Containers) == 0 {
		return nil
	}
	lifecycle := f.Deployment.Spec.Template.Spec.Containers[0].Lifecycle
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.HTTPGet == nil {
		return nil
	}
	last := &f.FailedHooks[len(f.FailedHooks)-1]
	return []Finding{{
		Level: LevelWarning, Check: "preStop hook", Reason: reasonFailedHook,
		Seen:    []string{fmt.Sprintf("pod %s: %s", last.InvolvedObject.Name, last.Message)},
		Cause:   "The kubelet does not reach the hook's port of a pod that ends, because of a mesh or a policy, so the agent ends before its turns.",
		Cure:    "Set spec.workload.sidecar.preStop to Exec: the hook then needs no request.",
		Command: fmt.Sprintf(`kubectl patch agent -n %s %s --type merge -p '{"spec":{"workload":{"sidecar":{"preStop":"Exec"}}}}'`, f.Agent.Namespace, f.Agent.Name),
	}}
}
