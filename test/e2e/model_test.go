//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("An agent without code", Ordered, func() {
	var (
		ns           string
		oncall, desk *a2av1alpha1.Agent
		user         *person
	)
	without := func(name string, tools ...a2av1alpha1.ModelTool) *a2av1alpha1.Agent {
		return &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec: a2av1alpha1.AgentSpec{
				Description: "Answers questions about incidents.",
				Model:       &a2av1alpha1.AgentModel{URL: "http://models." + ns + ".svc/v1", Instructions: "Look before you answer.", Tools: tools},
			},
		}
	}

	BeforeAll(func(ctx SpecContext) {
		ns = namespace(ctx)
		labels := map[string]string{"app": "models"}
		yes, no := true, false
		Expect(cluster.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "models", Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "models", Image: testAgentImage, ImagePullPolicy: corev1.PullIfNotPresent,
				Env: []corev1.EnvVar{
					{Name: "A2A_TEST_MODEL", Value: "yes"},
					{Name: "A2A_TEST_TOKEN_KEYS", Value: registryURL + "/v1/token/keys"},
					{Name: "A2A_TEST_TOKEN_AUDIENCE", Value: "http://models." + ns + ".svc/callers/mcp"},
				},
				SecurityContext: &corev1.SecurityContext{
					RunAsNonRoot: &yes, AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
			}}},
		})).To(Succeed())
		Expect(cluster.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "models"},
			Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
		})).To(Succeed())
		oncall = create(ctx, without("oncall", a2av1alpha1.ModelTool{MCP: &a2av1alpha1.MCPTool{
			URL: "http://models." + ns + ".svc/mcp", Allow: []a2av1alpha1.ToolPattern{"look", "deploy"}, Approval: []a2av1alpha1.ToolPattern{"deploy"}, Required: true,
		}}))
		desk = create(ctx, without("desk", a2av1alpha1.ModelTool{Agent: &a2av1alpha1.AgentTool{Name: "oncall"}}))
		user = newPerson(ctx, view(ns), grant{ns, forwardPorts}, grant{ns, requestToken})
		expectReady(ctx, oncall)
		expectReady(ctx, desk)
	})

	It("reports that the MCP server offers its tools", func(ctx SpecContext) {
		Eventually(ctx, func() string { return describe(ctx, oncall, a2av1alpha1.ConditionToolsAvailable) }).Should(HavePrefix("True"))
		Expect(describe(ctx, desk, a2av1alpha1.ConditionToolsAvailable)).To(BeEmpty())
	})

	DescribeTable("pauses for an approval, and runs the call once approved",
		func(ctx SpecContext, agent, text string) {
			asked := user.a2a(ctx, "send", agent, text)
			Expect(asked.status).To(Equal(0), asked.stderr)
			Expect(asked.field("State")).To(Equal("input-required"), asked.stdout)
			Expect(asked.stdout).To(And(ContainSubstring("deploy"), ContainSubstring("1.4.2"), ContainSubstring("/mcp")))

			By("answering with a text, which decides nothing")
			answered := user.a2a(ctx, "send", agent, "--task-id", asked.field("Task"), "yes, go on")
			Expect(answered.stdout + answered.stderr).To(ContainSubstring("approve"))
			Expect(user.ok(ctx, "task", "get", agent, asked.field("Task"))).To(ContainSubstring("input-required"))

			By("approving the call")
			approved := user.a2a(ctx, "approve", agent, asked.field("Task"), "--yes")
			Expect(approved.field("State")).To(Equal("completed"), approved.stderr)
			Expect(approved.stdout).To(And(ContainSubstring("deployed 1.4.2"), MatchRegexp(`(?m)^Step: \w+: done after `)))
		},
		Entry("of its own call", "oncall", "look"),
		Entry("of the call of an agent that it calls", "desk", "oncall look"),
	)

	It("tells an MCP server for whom it calls, which verifies it with the keys of the registry", func(ctx SpecContext) {
		clerk := create(ctx, without("clerk", a2av1alpha1.ModelTool{MCP: &a2av1alpha1.MCPTool{
			URL: "http://models." + ns + ".svc/callers/mcp", ForwardCaller: true, Required: true,
		}}))
		stranger := create(ctx, without("stranger", a2av1alpha1.ModelTool{MCP: &a2av1alpha1.MCPTool{URL: "http://models." + ns + ".svc/callers/mcp"}}))
		expectReady(ctx, clerk)
		Eventually(ctx, func() string { return describe(ctx, clerk, a2av1alpha1.ConditionToolsAvailable) }).Should(HavePrefix("True"))
		answered := user.a2a(ctx, "send", "clerk", "whoami")
		Expect(answered.field("State")).To(Equal("completed"), answered.stdout+answered.stderr)
		Expect(answered.stdout).To(MatchRegexp(`system:serviceaccount:%[1]s:\S+ by system:serviceaccount:%[1]s:\S*clerk`, ns))

		By("calling without a token of the registry, which the server refuses")
		Eventually(ctx, func() string { return describe(ctx, stranger, a2av1alpha1.ConditionToolsAvailable) }).Should(HavePrefix("False MCPServerUnauthorized"))
	})

	It("says why the tools are missing when the MCP server refuses", func(ctx SpecContext) {
		other := create(ctx, without("lost", a2av1alpha1.ModelTool{MCP: &a2av1alpha1.MCPTool{URL: "http://nobody." + ns + ".svc/mcp"}}))
		expectReady(ctx, other)
		Eventually(ctx, func() string { return describe(ctx, other, a2av1alpha1.ConditionToolsAvailable) }).Should(HavePrefix("False MCPServerUnreachable"))
	})
})
