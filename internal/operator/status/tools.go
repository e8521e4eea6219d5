// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// setToolsAvailable sets the condition ToolsAvailable of an agent without code that names MCP servers, and removes it from every other Agent.
// It has what the sidecars report, whether or not the pods are ready.
func setToolsAvailable(conditions *[]metav1.Condition, in Inputs) {
	agent := in.Observed.Agent
	if agent.Spec.Model == nil || !slices.ContainsFunc(agent.Spec.Model.Tools, isMCP) {
		removeCondition(conditions, a2av1alpha1.ConditionToolsAvailable)
		return
	}
	setCondition(conditions, a2av1alpha1.ConditionToolsAvailable, toolsAvailable(in), agent.Generation, in.Now)
}

func isMCP(tool a2av1alpha1.ModelTool) bool { return tool.MCP != nil }

func toolsAvailable(in Inputs) verdict {
	reported := false
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		_, has := readySince(pod)
		reported = reported || has
		for _, c := range pod.Status.Conditions {
			if string(c.Type) == a2av1alpha1.PodConditionPrefix+string(sidecarconfig.DependencyTools) && c.Status == corev1.ConditionFalse {
				cause := sidecarconfig.HealthCause(c.Reason)
				reason, action := toolsAction(cause)
				return isFalse(reason, fmt.Sprintf("%s (%s); %s", c.Message, cause, action))
			}
		}
	}
	if !reported {
		return unknown(a2av1alpha1.ReasonToolsNotReported, "No sidecar has reported yet whether the MCP servers of spec.model.tools offer their tools")
	}
	return verdict{metav1.ConditionTrue, a2av1alpha1.ReasonToolsAvailable, "The MCP servers offer their tools"}
}

// toolsAction returns the reason and the action for MCP servers that fail for a cause.
func toolsAction(cause sidecarconfig.HealthCause) (reason, action string) {
	switch cause {
	case sidecarconfig.CauseAuthentication, sidecarconfig.CausePermission, sidecarconfig.CauseMissing:
		return a2av1alpha1.ReasonMCPServerUnauthorized, "correct the Secrets of spec.model.tools[].mcp.headersFrom"
	case sidecarconfig.CauseInvalid:
		return a2av1alpha1.ReasonToolsInvalid, "correct allow and deny of spec.model.tools[].mcp"
	case sidecarconfig.CauseTLS:
		return a2av1alpha1.ReasonMCPServerUnreachable, "correct spec.model.tools[].mcp.url, or add the certificate authority of the server to spec.trustBundle"
	default:
		return a2av1alpha1.ReasonMCPServerUnreachable, "correct spec.model.tools[].mcp.url, or check that the server runs and that spec.networkPolicy.egress allows the connection"
	}
}

// describeTools is describeDependency for MCP servers without which the agent cannot work.
func describeTools(model *a2av1alpha1.AgentModel, cause sidecarconfig.HealthCause) (reason, what, action string) {
	isRequired := func(tool a2av1alpha1.ModelTool) bool { return tool.MCP != nil && tool.MCP.Required }
	if model == nil || !slices.ContainsFunc(model.Tools, isRequired) {
		return "", "", ""
	}
	reason, action = toolsAction(cause)
	return reason, "The tools of the model are not available", action
}
