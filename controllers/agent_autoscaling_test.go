// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// userOwner is the field manager of a user who applies manifests.
const userOwner = client.FieldOwner("user")

var _ = Describe("the replicas of an Agent", Ordered, func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	// Several replicas need a shared task store.
	shared := a2av1alpha1ac.AgentTasks().WithStore(a2av1alpha1ac.AgentTaskStore().
		WithType(a2av1alpha1.TaskStoreRedis).
		WithRedis(a2av1alpha1ac.AgentRedis().WithAddresses("redis:6379")))
	// manifest returns the Agent that a user applies.
	manifest := func(workload *a2av1alpha1ac.AgentWorkloadApplyConfiguration) *a2av1alpha1ac.AgentApplyConfiguration {
		template := makeAgent(f.namespace, "echo").Spec.Workload.Template
		return a2av1alpha1ac.Agent("echo", f.namespace).WithSpec(a2av1alpha1ac.AgentSpec().
			WithDescription("Repeats what it is told.").
			WithWorkload(workload.WithTemplate(template).WithTasks(shared)))
	}
	autoscaled := func(least, most int32) *a2av1alpha1ac.AgentWorkloadApplyConfiguration {
		return a2av1alpha1ac.AgentWorkload().WithAutoscaling(a2av1alpha1ac.AgentAutoscaling().
			WithMinReplicas(least).WithMaxReplicas(most).
			WithMetrics(a2av1alpha1ac.AutoscalingMetric().WithType(a2av1alpha1.AutoscalingMetricInFlightTurns).WithTarget(10)))
	}
	applied := func(ctx context.Context, workload *a2av1alpha1ac.AgentWorkloadApplyConfiguration) *a2av1alpha1.Agent {
		GinkgoHelper()
		Expect(cluster.Apply(ctx, manifest(workload), userOwner)).To(Succeed())
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "echo"}}
		f.expectReconciled(ctx, agent)
		return agent
	}
	// scale writes the number of replicas as the autoscaler does.
	scale := func(ctx context.Context, agent *a2av1alpha1.Agent, replicas int32) {
		GinkgoHelper()
		body := &autoscalingv1.Scale{}
		Expect(cluster.SubResource("scale").Get(ctx, agent, body)).To(Succeed())
		body.Spec.Replicas = replicas
		Expect(cluster.SubResource("scale").Update(ctx, agent, client.WithSubResourceBody(body), client.FieldOwner("kube-controller-manager"))).To(Succeed())
		f.expectReconciled(ctx, agent)
	}
	expectReplicas := func(ctx context.Context, agent *a2av1alpha1.Agent, spec, deployment int32) {
		GinkgoHelper()
		Expect(agent.Spec.Workload.Replicas).To(HaveValue(Equal(spec)), "spec.workload.replicas")
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(Equal(deployment)), "Deployment")
		f.expectInSync(ctx, agent)
	}
	gone := func(ctx context.Context, agent *a2av1alpha1.Agent, obj client.Object) bool {
		return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))
	}

	It("follow the autoscaler, and a manifest without replicas keeps them", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(2, 5))
		hpa := read[autoscalingv2.HorizontalPodAutoscaler](ctx, agent, "echo")
		Expect(hpa.Spec.ScaleTargetRef).To(Equal(autoscalingv2.CrossVersionObjectReference{APIVersion: "a2a-operator.dev/v1alpha1", Kind: "Agent", Name: "echo"}))
		Expect(metav1.IsControlledBy(hpa, agent)).To(BeTrue())
		expectReplicas(ctx, agent, 1, 2)

		for _, replicas := range []int32{2, 5, 3} {
			scale(ctx, agent, replicas)
			expectReplicas(ctx, agent, replicas, replicas)
		}
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 6)), userOwner)).To(Succeed())
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply HorizontalPodAutoscaler", "apply Agent/status"}))
		expectReplicas(ctx, agent, 3, 3)

		By("scaling to zero, which pauses the autoscaler")
		scale(ctx, agent, 0)
		expectReplicas(ctx, agent, 0, 0)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False ScaledToZero")
		scale(ctx, agent, 2)
		expectReplicas(ctx, agent, 2, 2)
	})

	It("do not fall below minReplicas when a manifest adds an autoscaler", func(ctx context.Context) {
		agent := applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(4))
		expectReplicas(ctx, agent, 4, 4)
		Expect(read[policyv1.PodDisruptionBudget](ctx, agent, "echo").Spec.MaxUnavailable.IntValue()).To(Equal(1))

		agent = applied(ctx, autoscaled(3, 5))
		expectReplicas(ctx, agent, 1, 3)
		scale(ctx, agent, 4)

		By("a manifest with replicas again")
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(2))
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeTrue())
		expectReplicas(ctx, agent, 2, 2)
	})

	It("stay when the autoscaler is removed", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(1, 5))
		scale(ctx, agent, 4)
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload())
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeTrue())
		expectReplicas(ctx, agent, 4, 4)
	})

	It("are zero while the Agent is suspended, and return afterwards", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(2, 5))
		scale(ctx, agent, 4)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		f.expectReconciled(ctx, agent)
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeTrue(), "an autoscaler without pods would report failures")
		expectReplicas(ctx, agent, 4, 0)
		Expect(gone(ctx, agent, &policyv1.PodDisruptionBudget{})).To(BeFalse())

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = false })
		f.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 4, 4)
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeFalse())
	})

	It("are written while a user error blocks all other changes", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(1, 5))
		expectReplicas(ctx, agent, 1, 1)
		before := deploymentOf(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked", "only the number of pods")

		scale(ctx, agent, 4)
		Expect(f.requests).To(Equal([]string{"apply Deployment", "apply Agent/status"}))
		expectReplicas(ctx, agent, 4, 4)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		f.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 4, 0)
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(before.Spec.Template))
		Expect(deploymentOf(ctx, agent).Labels).To(Equal(before.Labels))

		By("correcting the error")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports, a.Spec.Suspend = nil, false
		})
		f.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 4, 4)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:2"))
		scale(ctx, agent, 2)
		expectReplicas(ctx, agent, 2, 2)
	})

	It("are written while the API server rejects the template", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(1, 5))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
			a.Spec.Suspend = true
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected")
		// The new number of replicas has changed the generation of the Deployment.
		// The memo of the rejection is therefore invalid, and this reconcile sends
		// the rejected template once more.
		f.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 1, 0)
	})

	It("stay one while a user error keeps the shared task store from being configured", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
			a.Spec.Workload.Replicas = new(int32(3))
			a.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
				Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis:6379"}},
			}
		})
		f.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 3, 1)
	})

	It("have a PodDisruptionBudget only if there may be more than one", func(ctx context.Context) {
		agent := applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(1))
		Expect(gone(ctx, agent, &policyv1.PodDisruptionBudget{})).To(BeTrue(), "a single pod must not keep a node from being drained")
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(3).WithDisruptionBudget(a2av1alpha1ac.AgentDisruptionBudget().WithMaxUnavailable(2)))
		budget := read[policyv1.PodDisruptionBudget](ctx, agent, "echo")
		Expect(budget.Spec.MaxUnavailable.IntValue()).To(Equal(2))
		Expect(budget.Spec.UnhealthyPodEvictionPolicy).To(HaveValue(Equal(policyv1.AlwaysAllow)))
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(1))
		Expect(gone(ctx, agent, &policyv1.PodDisruptionBudget{})).To(BeTrue())
		f.expectInSync(ctx, agent)
	})

	It("are rejected in a manifest with an autoscaler", func(ctx context.Context) {
		message := "whose autoscaler writes it: remove it"
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 5).WithReplicas(9)), userOwner)).To(MatchError(ContainSubstring(message)))
		agent := applied(ctx, autoscaled(2, 5))
		scale(ctx, agent, 5)
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 5).WithReplicas(9)), userOwner, client.ForceOwnership)).To(MatchError(ContainSubstring(message)))

		By("changing the limits of the autoscaler")
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 3)), userOwner)).To(Succeed())
		f.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 5, 3)
		scale(ctx, agent, 3)
		expectReplicas(ctx, agent, 3, 3)
	})
})
