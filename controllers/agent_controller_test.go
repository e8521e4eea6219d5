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
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var _ = Describe("an Agent", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("takes five applies and one status write, and then none", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)

		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{
			"apply NetworkPolicy", "apply ServiceAccount", "apply Service", "apply ConfigMap", "apply Deployment", "apply Agent/status",
		}))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "True Accepted")
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True DefaultSkill")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False RolloutInProgress")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False NoPodReady")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolloutInProgress")
		Expect(agent.Status.URL).To(Equal("http://echo." + f.namespace + ".svc.cluster.local/"))
		Expect(agent.Status.Selector).To(Equal("a2a-operator.dev/agent=echo"))
		Expect(agent.Status.Skills).To(HaveValue(BeEquivalentTo(1)))
		Expect(agent.Status.ObservedGeneration).To(Equal(agent.Generation))
		f.expectInSync(ctx, agent)

		for _, obj := range []client.Object{
			deploymentOf(ctx, agent), configMapOf(ctx, agent),
			read[corev1.Service](ctx, agent, "echo"), read[corev1.ServiceAccount](ctx, agent, "echo"),
		} {
			Expect(metav1.IsControlledBy(obj, agent)).To(BeTrue())
			Expect(obj.GetLabels()).To(HaveKeyWithValue(a2av1alpha1.LabelAgent, "echo"))
		}
	})

	It("writes a status and sends its events once while the cache does not show the write", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		stale := agent.DeepCopy()
		f.expectReconciled(ctx, agent)
		Expect(f.newEvents()).To(HaveLen(1))

		f.requests = nil
		_, err := f.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.requests).To(BeEmpty())
		Expect(f.newEvents()).To(BeEmpty())
	})

	It("becomes Ready with a ready pod, and then takes no request", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(f.newEvents()).To(BeEmpty())

		pod := runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"patch Pod", "list", "apply ControllerRevision", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "True Published")
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(f.newEvents()).To(Equal([]string{"Normal Ready The agent serves at " + agent.Status.URL}))
		Expect(agent.Status.Replicas).To(BeEquivalentTo(1))

		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations).To(HaveKeyWithValue(a2av1alpha1.AnnotationConfigDigest,
			configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]))
		f.expectInSync(ctx, agent)
	})

	It("without code gets a pod with the sidecar alone, and says whether its tools are available", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "oncall")
		agent.Spec.Workload = &a2av1alpha1.AgentWorkload{}
		agent.Spec.Model = &a2av1alpha1.AgentModel{
			URL: "http://models.svc/v1", Tools: []a2av1alpha1.ModelTool{{MCP: &a2av1alpha1.MCPTool{URL: "http://mcp.tools/mcp"}}},
		}
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers).To(HaveExactElements(HaveField("Name", a2av1alpha1.ContainerSidecar)))
		expectCondition(agent, a2av1alpha1.ConditionToolsAvailable, "Unknown ToolsNotReported")
		f.expectInSync(ctx, agent)
	})

	It("gets a pod that the API server accepts, with the sidecar first", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		pod := runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		Expect(pod.Spec.InitContainers).To(HaveLen(1))
		Expect(pod.Spec.InitContainers[0].RestartPolicy).To(HaveValue(Equal(corev1.ContainerRestartPolicyAlways)))
		Expect(pod.Spec.ServiceAccountName).To(Equal("echo"))
		Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	})

	It("gets in sync with a template that uses many fields", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "rich", func(a *a2av1alpha1.Agent) { richTemplate(&a.Spec.Workload.Template) })
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		f.expectInSync(ctx, agent)
	})

	It("accepts the deprecated field for the ServiceAccount", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.DeprecatedServiceAccount = "mine"
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.ServiceAccountName).To(Equal("mine"))
		f.expectInSync(ctx, agent)
	})

	It("rolls out an edited template while the earlier pod runs", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		strategy := deploymentOf(ctx, agent).Spec.Strategy.RollingUpdate
		Expect(strategy.MaxUnavailable.IntValue()).To(BeZero())
		Expect(strategy.MaxSurge.IntValue()).To(Equal(1))

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Deployment", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolloutInProgress")
		f.expectInSync(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:2"))
	})

	It("copies the replicas of the scale subresource", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		scale := &autoscalingv1.Scale{}
		Expect(cluster.SubResource("scale").Get(ctx, agent, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(scale.Status.Replicas).To(BeEquivalentTo(1))
		Expect(scale.Status.Selector).To(Equal("a2a-operator.dev/agent=echo"))

		scale.Spec.Replicas = 0
		Expect(cluster.SubResource("scale").Update(ctx, agent, client.WithSubResourceBody(scale))).To(Succeed())
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(BeZero()))

		scale.Spec.Replicas = 2
		scale.ResourceVersion = ""
		Expect(cluster.SubResource("scale").Update(ctx, agent, client.WithSubResourceBody(scale))).To(
			MatchError(ContainSubstring("spec.workload.replicas above 1 needs spec.workload.tasks.store.type Redis")))
	})

	It("repairs objects that were edited by hand", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)

		deployment := deploymentOf(ctx, agent)
		before := edited(ctx, deployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil" })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply Deployment"))
		Expect(specOf(deploymentOf(ctx, agent))).To(Equal(before))

		configMap := configMapOf(ctx, agent)
		before = edited(ctx, configMap, func(c *corev1.ConfigMap) { c.Data[sidecarconfig.FileName] = "{}" })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply ConfigMap"))
		Expect(specOf(configMapOf(ctx, agent))).To(Equal(before))

		By("a Service of type NodePort or LoadBalancer")
		for _, serviceType := range []corev1.ServiceType{corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer} {
			service := read[corev1.Service](ctx, agent, "echo")
			expectEdited(ctx, service, func(s *corev1.Service) { s.Spec.Type = serviceType })
			Expect(service.Spec.Ports[0].NodePort).NotTo(BeZero())
			f.expectReconciled(ctx, agent)
			service = read[corev1.Service](ctx, agent, "echo")
			Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
			Expect(service.Spec.Ports[0].NodePort).To(BeZero())
			f.expectReconciled(ctx, agent)
			f.expectInSync(ctx, agent)
		}

		By("a Service that selects no pod")
		service := read[corev1.Service](ctx, agent, "echo")
		before = edited(ctx, service, func(s *corev1.Service) { s.Spec.Selector["more"] = "x" })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply Service"))
		Expect(specOf(read[corev1.Service](ctx, agent, "echo"))).To(Equal(before))
	})

	It("keeps fields that others set", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		service := read[corev1.Service](ctx, agent, "echo")
		expectEdited(ctx, service, func(s *corev1.Service) { s.Annotations["example.com/scrape"] = "yes" })
		f.expectInSync(ctx, agent)
		Expect(read[corev1.Service](ctx, agent, "echo").Annotations).To(HaveKey("example.com/scrape"))
	})

	It("does not repeat its second status and event when the cache shows the first", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		created := agent.DeepCopy()
		f.expectReconciled(ctx, agent)
		first := agent.DeepCopy()
		runDeployment(ctx, agent, "echo-1", true, f.runningNow())

		reconcileCached := func(cached *a2av1alpha1.Agent) {
			f.requests = nil
			_, err := f.reconciler.Reconcile(ctx, cached.DeepCopy())
			Expect(err).NotTo(HaveOccurred())
		}
		reconcileCached(created)
		Expect(f.requests).To(ContainElement("apply Agent/status"))
		Expect(f.newEvents()).To(ConsistOf(HavePrefix("Normal Ready")))
		reconcileCached(created)
		Expect(f.requests).To(BeEmpty())
		reconcileCached(first)
		Expect(f.requests).To(BeEmpty())
		Expect(f.newEvents()).To(BeEmpty())
	})

	It("takes no request while it is being deleted", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Finalizers = []string{"example.com/wait"} })
		expectApplied(ctx, agent)
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		f.expectInSync(ctx, agent)
	})
})

var _ = Describe("an Agent without the issuer's keys", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("writes no sidecar configuration until they are known", func(ctx context.Context) {
		issuer := f.keys.issuer
		f.keys.issuer = nil
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False WaitingForIssuerKeys", "/openid/v1/jwks")

		f.keys.issuer = issuer
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		access := configurationOf(ctx, agent).Access
		Expect(access.Namespaces).To(Equal([]string{f.namespace}))
		Expect(access.Authentication).To(HaveLen(1))
		Expect(access.Authentication[0].Kubernetes.Issuer).To(Equal("https://issuer.example"))
		Expect(access.Authentication[0].Kubernetes.Audiences).To(Equal([]string{"echo." + f.namespace + ".a2a-operator.dev"}))

		f.keys.issuer = &state.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[{"kid":"2"}]}`)}
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply ConfigMap"}))
		Expect(configurationOf(ctx, agent).Access.Authentication[0].Kubernetes.Keys).To(MatchJSON(`{"keys":[{"kid":"2"}]}`))
	})
})
