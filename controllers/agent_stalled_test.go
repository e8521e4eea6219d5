// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// expectKstatus expects the status that kstatus computes for an object of the API server.
func expectKstatus(ctx context.Context, kind string, obj client.Object, want kstatus.Status) {
	GinkgoHelper()
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(kind))
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), read)).To(Succeed())
	result, err := kstatus.Compute(read)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.Status).To(Equal(want), result.Message)
}

var _ = Describe("an Agent as kstatus reads it", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("is in progress, current, failed while stalled, and terminating", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		expectKstatus(ctx, "Agent", agent, kstatus.InProgressStatus)
		f.expectReconciled(ctx, agent)
		expectKstatus(ctx, "Agent", agent, kstatus.InProgressStatus)
		runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		f.expectReconciled(ctx, agent)
		expectKstatus(ctx, "Agent", agent, kstatus.CurrentStatus)

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
		})
		expectKstatus(ctx, "Agent", agent, kstatus.InProgressStatus)
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionStalled, "True PortConflict", "Accepted: spec.workload.template.spec.containers[0]")
		expectKstatus(ctx, "Agent", agent, kstatus.FailedStatus)
		f.expectInSync(ctx, agent)

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = nil
			a.Finalizers = []string{"example.com/wait"}
		})
		f.expectReconciled(ctx, agent)
		Expect(meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionStalled)).To(BeNil())
		expectKstatus(ctx, "Agent", agent, kstatus.CurrentStatus)
		f.expectInSync(ctx, agent)

		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		expectKstatus(ctx, "Agent", agent, kstatus.TerminatingStatus)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Finalizers = nil })
	})

	It("is failed with an object of another owner, in one status write", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "echo"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionStalled, "True Conflict", `Programmed: Service "echo"`)
		expectKstatus(ctx, "Agent", agent, kstatus.FailedStatus)
		f.expectInSync(ctx, agent)
	})

	It("is an AgentSkill that is in progress, failed and current", func(ctx context.Context) {
		skill := makeSkill(f.namespace, "calc", nil)
		skill.Spec.InputSchema = &runtime.RawExtension{Raw: []byte(`{"type":1}`)}
		expectApplied(ctx, skill)
		expectKstatus(ctx, "AgentSkill", skill, kstatus.InProgressStatus)
		reconcile := func() {
			GinkgoHelper()
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
			_, err := NewAgentSkillReconciler(f.reconciler.config.Client, nil, &f.reconciler.config.Gather, f.clock, nil).Reconcile(ctx, skill.DeepCopy())
			Expect(err).NotTo(HaveOccurred())
		}
		reconcile()
		expectKstatus(ctx, "AgentSkill", skill, kstatus.FailedStatus)
		expectEdited(ctx, skill, func(s *a2av1alpha1.AgentSkill) { s.Spec.InputSchema = nil })
		expectKstatus(ctx, "AgentSkill", skill, kstatus.InProgressStatus)
		reconcile()
		expectKstatus(ctx, "AgentSkill", skill, kstatus.CurrentStatus)
	})
})
