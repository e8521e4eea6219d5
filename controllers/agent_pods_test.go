// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("an Agent with a pod that does not become ready", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	DescribeTable("reports the reason",
		func(ctx context.Context, state corev1.ContainerState, reason string, parts ...string) {
			agent := makeAgent(f.namespace, "echo")
			expectApplied(ctx, agent)
			f.expectReconciled(ctx, agent)
			runDeployment(ctx, agent, "echo-1", false, state)
			f.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionAvailable, "False "+reason, parts...)
			expectCondition(agent, a2av1alpha1.ConditionReady, "False "+reason, parts...)
			Expect(f.newEvents()).To(ConsistOf(HavePrefix("Warning " + reason)))
			f.expectReconciled(ctx, agent)
			Expect(f.requests).NotTo(ContainElement("apply Agent/status"), "a condition must not flap")
		},
		Entry("image", waiting("ImagePullBackOff", "Back-off pulling image"), "ImagePullFailed", `"example/echo:1"`, "containers[0].image"),
		Entry("root", waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), "RunsAsRoot", "numeric USER"),
		Entry("Secret", waiting("CreateContainerConfigError", `secret "x" not found`), "ContainerConfigInvalid", `secret "x" not found`),
		Entry("command", waiting("CreateContainerError", "no such file"), "ContainerCannotStart", ".command"),
		Entry("crash", waiting("CrashLoopBackOff", "back-off 5m0s"), "ContainerCrashing", "kubectl logs"),
	)

	It("waits for an agent to listen, and reconciles again when that time is over", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", false, f.runningNow())
		result := f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False AgentStarting")
		Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		Expect(f.newEvents()).To(BeEmpty())

		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
		result = f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False AgentNotListening", "127.0.0.1:8080", "spec.workload.backend.port")
		Expect(result.RequeueAfter).To(BeZero(), "no polling")
		Expect(f.newEvents()).To(ConsistOf(HavePrefix("Warning AgentNotListening")))
	})

	It("stays available with the pods of the earlier spec", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/nowhere:2" })
		f.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-2", false, waiting("ErrImagePull", ""))
		setRollout(ctx, agent, 2, 1, 1)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True ImagePullFailed", "Pods of an earlier spec serve calls", "example/nowhere:2")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False ImagePullFailed")
		Expect(f.newEvents()).To(ConsistOf(HavePrefix("Warning ImagePullFailed")))
	})
})
