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

// userOwner is who applies manifests.
const userOwner = client.FieldOwner("user")

var _ = Describe("the number of an Agent's pods", Ordered, func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	// Several pods share what they know of tasks.
	shared := a2av1alpha1ac.AgentTasks().WithStore(a2av1alpha1ac.AgentTaskStore().
		WithType(a2av1alpha1.TaskStoreRedis).
		WithRedis(a2av1alpha1ac.AgentRedis().WithAddresses("redis:6379")))
	// manifest is what a user applies.
	manifest := func(workload *a2av1alpha1ac.AgentWorkloadApplyConfiguration) *a2av1alpha1ac.AgentApplyConfiguration {
		template := makeAgent(b.namespace, "echo").Spec.Workload.Template
		return a2av1alpha1ac.Agent("echo", b.namespace).WithSpec(a2av1alpha1ac.AgentSpec().
			WithDescription("Says it again.").
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
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "echo"}}
		b.expectReconciled(ctx, agent)
		return agent
	}
	// scale does what the autoscaler does.
	scale := func(ctx context.Context, agent *a2av1alpha1.Agent, replicas int32) {
		GinkgoHelper()
		body := &autoscalingv1.Scale{}
		Expect(cluster.SubResource("scale").Get(ctx, agent, body)).To(Succeed())
		body.Spec.Replicas = replicas
		Expect(cluster.SubResource("scale").Update(ctx, agent, client.WithSubResourceBody(body), client.FieldOwner("kube-controller-manager"))).To(Succeed())
		b.expectReconciled(ctx, agent)
	}
	expectReplicas := func(ctx context.Context, agent *a2av1alpha1.Agent, spec, deployment int32) {
		GinkgoHelper()
		Expect(agent.Spec.Workload.Replicas).To(HaveValue(Equal(spec)), "spec.workload.replicas")
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(Equal(deployment)), "Deployment")
		b.expectConverged(ctx, agent)
	}
	gone := func(ctx context.Context, agent *a2av1alpha1.Agent, obj client.Object) bool {
		return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))
	}

	It("follows the autoscaler up and down, and a manifest that leaves it out changes nothing", func(ctx context.Context) {
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
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply HorizontalPodAutoscaler", "apply Agent/status"}))
		expectReplicas(ctx, agent, 3, 3)

		By("zero, which pauses")
		scale(ctx, agent, 0)
		expectReplicas(ctx, agent, 0, 0)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False ScaledToZero")
		scale(ctx, agent, 2)
		expectReplicas(ctx, agent, 2, 2)
	})

	It("does not fall below the autoscaler's least when a manifest hands the number over", func(ctx context.Context) {
		agent := applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(4))
		expectReplicas(ctx, agent, 4, 4)
		Expect(read[policyv1.PodDisruptionBudget](ctx, agent, "echo").Spec.MaxUnavailable.IntValue()).To(Equal(1))

		agent = applied(ctx, autoscaled(3, 5))
		expectReplicas(ctx, agent, 1, 3)
		scale(ctx, agent, 4)

		By("back to a number of the user's")
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(2))
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeTrue())
		expectReplicas(ctx, agent, 2, 2)
	})

	It("keeps the autoscaler's number when it goes", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(1, 5))
		scale(ctx, agent, 4)
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload())
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeTrue())
		expectReplicas(ctx, agent, 4, 4)
	})

	It("is zero while the Agent is suspended, and then what it was", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(2, 5))
		scale(ctx, agent, 4)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		b.expectReconciled(ctx, agent)
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeTrue(), "no autoscaler complains about pods that are not there")
		expectReplicas(ctx, agent, 4, 0)
		Expect(gone(ctx, agent, &policyv1.PodDisruptionBudget{})).To(BeFalse())

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = false })
		b.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 4, 4)
		Expect(gone(ctx, agent, &autoscalingv2.HorizontalPodAutoscaler{})).To(BeFalse())
	})

	It("is followed while a mistake keeps all else as it is", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(1, 5))
		expectReplicas(ctx, agent, 1, 1)
		before := deploymentOf(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked", "only the number of pods")

		scale(ctx, agent, 4)
		Expect(b.requests).To(Equal([]string{"apply Deployment", "apply Agent/status"}))
		expectReplicas(ctx, agent, 4, 4)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		b.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 4, 0)
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(before.Spec.Template))
		Expect(deploymentOf(ctx, agent).Labels).To(Equal(before.Labels))

		By("the mistake is corrected")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports, a.Spec.Suspend = nil, false
		})
		b.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 4, 4)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:2"))
		scale(ctx, agent, 2)
		expectReplicas(ctx, agent, 2, 2)
	})

	It("is followed while the API server refuses the template", func(ctx context.Context) {
		agent := applied(ctx, autoscaled(1, 5))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
			a.Spec.Suspend = true
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected")
		// The Deployment is another one by now, over which it is judged anew, once.
		b.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 1, 0)
	})

	It("stays one, while a mistake keeps pods from sharing their tasks", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
			a.Spec.Workload.Replicas = new(int32(3))
			a.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
				Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis:6379"}},
			}
		})
		b.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 3, 1)
	})

	It("has a budget only when there may be more than one", func(ctx context.Context) {
		agent := applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(1))
		Expect(gone(ctx, agent, &policyv1.PodDisruptionBudget{})).To(BeTrue(), "a single pod must not keep a node from being drained")
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(3).WithDisruptionBudget(a2av1alpha1ac.AgentDisruptionBudget().WithMaxUnavailable(2)))
		budget := read[policyv1.PodDisruptionBudget](ctx, agent, "echo")
		Expect(budget.Spec.MaxUnavailable.IntValue()).To(Equal(2))
		Expect(budget.Spec.UnhealthyPodEvictionPolicy).To(HaveValue(Equal(policyv1.AlwaysAllow)))
		agent = applied(ctx, a2av1alpha1ac.AgentWorkload().WithReplicas(1))
		Expect(gone(ctx, agent, &policyv1.PodDisruptionBudget{})).To(BeTrue())
		b.expectConverged(ctx, agent)
	})

	It("is refused where two would write it", func(ctx context.Context) {
		message := "belongs to the autoscaler while spec.workload.autoscaling is set: leave it out"
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 5).WithReplicas(9)), userOwner)).To(MatchError(ContainSubstring(message)))
		agent := applied(ctx, autoscaled(2, 5))
		scale(ctx, agent, 5)
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 5).WithReplicas(9)), userOwner, client.ForceOwnership)).To(MatchError(ContainSubstring(message)))

		By("limits that change around a number that is there")
		Expect(cluster.Apply(ctx, manifest(autoscaled(2, 3)), userOwner)).To(Succeed())
		b.expectReconciled(ctx, agent)
		expectReplicas(ctx, agent, 5, 3)
		scale(ctx, agent, 3)
		expectReplicas(ctx, agent, 3, 3)
	})
})
