// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

var _ = Describe("an Agent on the straight way", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	It("makes five objects and one status, and then nothing", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)

		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{
			"apply NetworkPolicy", "apply ServiceAccount", "apply Service", "apply ConfigMap", "apply Deployment", "apply Agent/status",
		}))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "True Accepted")
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True DefaultSkill")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False RolloutInProgress")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False NoPodReady")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolloutInProgress")
		Expect(agent.Status.URL).To(Equal("http://echo." + b.namespace + ".svc.cluster.local/"))
		Expect(agent.Status.Selector).To(Equal("a2a-operator.dev/agent=echo"))
		Expect(agent.Status.Skills).To(HaveValue(BeEquivalentTo(1)))
		Expect(agent.Status.ObservedGeneration).To(Equal(agent.Generation))
		b.expectConverged(ctx, agent)

		for _, obj := range []client.Object{
			deploymentOf(ctx, agent), configMapOf(ctx, agent),
			read[corev1.Service](ctx, agent, "echo"), read[corev1.ServiceAccount](ctx, agent, "echo"),
		} {
			Expect(metav1.IsControlledBy(obj, agent)).To(BeTrue())
			Expect(obj.GetLabels()).To(HaveKeyWithValue(a2av1alpha1.LabelAgent, "echo"))
		}
	})

	It("writes and tells a transition once, though its cache does not show it yet", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", true, b.runningNow())
		stale := agent.DeepCopy()
		b.expectReconciled(ctx, agent)
		Expect(b.happened()).To(HaveLen(1))

		b.requests = nil
		_, err := b.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(b.requests).To(BeEmpty())
		Expect(b.happened()).To(BeEmpty())
	})

	It("becomes Ready once a pod is, and then costs no request", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(b.happened()).To(BeEmpty())

		pod := runDeployment(ctx, agent, "echo-1", true, b.runningNow())
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"patch Pod", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "True Published")
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(b.happened()).To(Equal([]string{"Normal Ready The agent takes calls at " + agent.Status.URL}))
		Expect(agent.Status.Replicas).To(BeEquivalentTo(1))

		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations).To(HaveKeyWithValue(a2av1alpha1.AnnotationConfigDigest,
			configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]))
		b.expectConverged(ctx, agent)
	})

	It("makes a pod that the API server takes, with the sidecar first", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		pod := runDeployment(ctx, agent, "echo-1", true, b.runningNow())
		Expect(pod.Spec.InitContainers).To(HaveLen(1))
		Expect(pod.Spec.InitContainers[0].RestartPolicy).To(HaveValue(Equal(corev1.ContainerRestartPolicyAlways)))
		Expect(pod.Spec.ServiceAccountName).To(Equal("echo"))
		Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	})

	It("converges for a template that uses much of what a pod can have", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "rich", func(a *a2av1alpha1.Agent) { richTemplate(&a.Spec.Workload.Template) })
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		b.expectConverged(ctx, agent)
	})

	It("takes the old name of the field for the ServiceAccount", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.DeprecatedServiceAccount = "mine"
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.ServiceAccountName).To(Equal("mine"))
		b.expectConverged(ctx, agent)
	})

	It("follows an edit of the template without taking the earlier pod down", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		strategy := deploymentOf(ctx, agent).Spec.Strategy.RollingUpdate
		Expect(strategy.MaxUnavailable.IntValue()).To(BeZero())
		Expect(strategy.MaxSurge.IntValue()).To(Equal(1))

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" })
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Deployment", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolloutInProgress")
		b.expectConverged(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:2"))
	})

	It("copies the replicas that the scale subresource was given", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		scale := &autoscalingv1.Scale{}
		Expect(cluster.SubResource("scale").Get(ctx, agent, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(scale.Status.Replicas).To(BeEquivalentTo(1))
		Expect(scale.Status.Selector).To(Equal("a2a-operator.dev/agent=echo"))

		scale.Spec.Replicas = 0
		Expect(cluster.SubResource("scale").Update(ctx, agent, client.WithSubResourceBody(scale))).To(Succeed())
		b.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(BeZero()))

		scale.Spec.Replicas = 2
		scale.ResourceVersion = ""
		Expect(cluster.SubResource("scale").Update(ctx, agent, client.WithSubResourceBody(scale))).To(
			MatchError(ContainSubstring("spec.workload.replicas above 1 needs spec.workload.tasks.store.type Redis")))
	})

	It("repairs what somebody tampered with", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)

		deployment := deploymentOf(ctx, agent)
		was := tampered(ctx, deployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil" })
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(ContainElement("apply Deployment"))
		Expect(specOf(deploymentOf(ctx, agent))).To(Equal(was))

		configMap := configMapOf(ctx, agent)
		was = tampered(ctx, configMap, func(c *corev1.ConfigMap) { c.Data[sidecarconfig.FileName] = "{}" })
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(ContainElement("apply ConfigMap"))
		Expect(specOf(configMapOf(ctx, agent))).To(Equal(was))

		By("a Service that was opened to the nodes' network")
		for _, opened := range []corev1.ServiceType{corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer} {
			service := read[corev1.Service](ctx, agent, "echo")
			expectEdited(ctx, service, func(s *corev1.Service) { s.Spec.Type = opened })
			Expect(service.Spec.Ports[0].NodePort).NotTo(BeZero())
			b.expectReconciled(ctx, agent)
			service = read[corev1.Service](ctx, agent, "echo")
			Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
			Expect(service.Spec.Ports[0].NodePort).To(BeZero())
			b.expectReconciled(ctx, agent)
			b.expectConverged(ctx, agent)
		}
	})

	It("leaves what others add", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		service := read[corev1.Service](ctx, agent, "echo")
		expectEdited(ctx, service, func(s *corev1.Service) { s.Annotations["example.com/scrape"] = "yes" })
		b.expectConverged(ctx, agent)
		Expect(read[corev1.Service](ctx, agent, "echo").Annotations).To(HaveKey("example.com/scrape"))
	})

	It("does nothing for an Agent that is being deleted", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Finalizers = []string{"example.com/wait"} })
		expectApplied(ctx, agent)
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		b.expectConverged(ctx, agent)
	})
})

var _ = Describe("an Agent without the issuer's keys", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	It("writes no half contract, and all of it once they are known", func(ctx context.Context) {
		issuer := b.keys.issuer
		b.keys.issuer = nil
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False WaitingForIssuerKeys", "/openid/v1/jwks")

		b.keys.issuer = issuer
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		access := contractOf(ctx, agent).Access
		Expect(access.Namespaces).To(Equal([]string{b.namespace}))
		Expect(access.Authentication).To(HaveLen(1))
		Expect(access.Authentication[0].Kubernetes.Issuer).To(Equal("https://issuer.example"))
		Expect(access.Authentication[0].Kubernetes.Audiences).To(Equal([]string{"echo." + b.namespace + ".a2a-operator.dev", "a2a-operator.dev"}))

		b.keys.issuer = &clusterstate.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[{"kid":"2"}]}`)}
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply ConfigMap"}))
		Expect(contractOf(ctx, agent).Access.Authentication[0].Kubernetes.Keys).To(MatchJSON(`{"keys":[{"kid":"2"}]}`))
	})
})
