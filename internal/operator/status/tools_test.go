// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestToolsAvailable checks that the condition has what the sidecars report, that Ready does not depend on servers that are not required, and
// that only Agents with MCP servers have the condition.
func TestToolsAvailable(t *testing.T) {
	withTools := func(in *Inputs) {
		in.Observed.Agent.Spec.Model = &a2av1alpha1.AgentModel{Tools: []a2av1alpha1.ModelTool{{MCP: &a2av1alpha1.MCPTool{URL: "http://mcp.tools/mcp"}}}}
	}
	reports := func(cause sidecarconfig.HealthCause) func(*Inputs) {
		return func(in *Inputs) {
			in.Observed.Pods[0] = lacking(in.Observed.Pods[0], sidecarconfig.DependencyRegistry, sidecarconfig.CauseHealthy, "")
			if cause != "" {
				in.Observed.Pods[0] = lacking(in.Observed.Pods[0], sidecarconfig.DependencyTools, cause, "http://mcp.tools/mcp: connection refused")
			}
		}
	}
	for name, test := range map[string]struct {
		in   Inputs
		want string
	}{
		"offered":       {healthy(withTools, reports("")), "True ToolsAvailable: The MCP servers offer their tools"},
		"not reported":  {healthy(withTools), "Unknown ToolsNotReported: No sidecar has reported yet"},
		"away":          {healthy(withTools, reports(sidecarconfig.CauseRefused)), "False MCPServerUnreachable: http://mcp.tools/mcp: connection refused (ConnectionRefused); correct spec.model.tools[].mcp.url"},
		"unauthorized":  {healthy(withTools, reports(sidecarconfig.CauseAuthentication)), "False MCPServerUnauthorized: http://mcp.tools/mcp"},
		"a wrong name":  {healthy(withTools, reports(sidecarconfig.CauseInvalid)), "False ToolsInvalid: http://mcp.tools/mcp"},
		"without tools": {healthy(reports(sidecarconfig.CauseRefused)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.in.Observed.Agent.Status.Conditions = append(test.in.Observed.Agent.Status.Conditions, metav1.Condition{Type: "ToolsAvailable", Status: "True", Reason: "ToolsAvailable"})
			conditions := Agent(test.in).Status.Conditions
			got := ""
			if c := meta.FindStatusCondition(conditions, a2av1alpha1.ConditionToolsAvailable); c != nil {
				got = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("%q, want %q", got, test.want)
			}
			if !meta.IsStatusConditionTrue(conditions, a2av1alpha1.ConditionReady) {
				t.Error("the Agent is not ready")
			}
			checkDocumented(t, conditions)
		})
	}
}
