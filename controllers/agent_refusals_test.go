// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

var _ = Describe("an Agent with a spec that cannot be carried out", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	It("names every clash with the sidecar, and leaves what runs alone", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		before := specOf(deploymentOf(ctx, agent))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			c := &a.Spec.Workload.Template.Spec.Containers[0]
			c.Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: a2av1alpha1.VolumeToken, MountPath: "/stolen"}}
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False PortConflict",
			"spec.workload.template.spec.containers[0].ports[0].containerPort must not be 8642", "containers[0].volumeMounts[0].name")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(specOf(deploymentOf(ctx, agent))).To(Equal(before))
		b.expectConverged(ctx, agent)
	})

	It("passes on what the API server says about the template, and writes nothing else", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		before := []string{specOf(deploymentOf(ctx, agent)), specOf(configMapOf(ctx, agent))}
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Description = "Somebody else."
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected", "spec.workload.template", `Not found: "nowhere"`)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked")
		Expect([]string{specOf(deploymentOf(ctx, agent)), specOf(configMapOf(ctx, agent))}).To(Equal(before))
	})

	It("names what the author wrote where the API server names what was made of it", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NOT=A_NAME"}}
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected", "spec.workload.template.spec.containers[0].env[0].name: Invalid value")
	})

	It("names a port that a container has twice, and leaves what runs alone", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		before := specOf(deploymentOf(ctx, agent))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{
				{ContainerPort: 8080}, {Name: "udp", ContainerPort: 8080, Protocol: corev1.ProtocolUDP}, {Name: "again", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
			}
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected",
			`containers[name="agent"].ports: duplicate entries for key [containerPort=8080,protocol="TCP"]`)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(specOf(deploymentOf(ctx, agent))).To(Equal(before))
	})

	It("names a rule of egress that no NetworkPolicy can have, and leaves what runs alone", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
			a.Spec.NetworkPolicy.Egress = &[]networkingv1.NetworkPolicyEgressRule{{}, {To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.1/99"}}}}}
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False NetworkPolicyRejected",
			"correct it", `spec.networkPolicy.egress[1].to[0].ipBlock.cidr: Invalid value: "10.0.0.1/99"`)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:1"))
	})

	It("keeps the template's own preStop hook and says so", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
				PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}},
			}
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True PreStopKept", "containers[0].lifecycle.preStop")
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Lifecycle.PreStop.Exec.Command).To(Equal([]string{"bye"}))
	})
})

var _ = Describe("an Agent with an object of its name that is not its own", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	foreign := []TableEntry{
		Entry("a ServiceAccount", func(ns string) client.Object {
			return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "echo"}}
		}, `ServiceAccount "echo"`),
		Entry("a ConfigMap", func(ns string) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: names.ConfigMap("echo")}, Data: map[string]string{"mine": "yes"}}
		}, `ConfigMap "echo-a2a-config"`),
		Entry("a Service", func(ns string) client.Object {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "echo"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		}, `Service "echo"`),
		Entry("a NetworkPolicy", func(ns string) client.Object {
			return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "echo"}}
		}, `NetworkPolicy "echo"`),
		Entry("a Deployment", foreignDeployment, `Deployment "echo"`),
	}

	DescribeTable("writes nothing and says so",
		func(ctx context.Context, foreign func(namespace string) client.Object, kind string) {
			obj := foreign(b.namespace)
			expectApplied(ctx, obj)
			before := specOf(obj)
			agent := makeAgent(b.namespace, "echo")
			expectApplied(ctx, agent)
			b.expectReconciled(ctx, agent)
			Expect(b.requests).To(Equal([]string{"apply Agent/status"}))
			expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Conflict", kind, "delete it, or give the Agent another metadata.name")
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			Expect(specOf(obj)).To(Equal(before))
			b.expectConverged(ctx, agent)

			Expect(cluster.Delete(ctx, obj)).To(Succeed())
			b.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		},
		foreign,
	)

	DescribeTable("takes over none that its cache does not show yet",
		func(ctx context.Context, foreign func(namespace string) client.Object, _ string) {
			obj := foreign(b.namespace)
			expectApplied(ctx, obj)
			before := specOf(obj)
			agent := makeAgent(b.namespace, "echo")
			expectApplied(ctx, agent)

			b.unseen = obj
			Expect(b.expectReconciled(ctx, agent).RequeueAfter).To(Equal(settleAfter))
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			Expect(specOf(obj)).To(Equal(before))
			Expect(b.requests).NotTo(ContainElement("apply Agent/status"))

			b.unseen = nil
			b.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Conflict")
		},
		foreign,
	)

	orphans := []TableEntry{
		Entry("a ServiceAccount", &corev1.ServiceAccount{}, "echo"),
		Entry("a ConfigMap", &corev1.ConfigMap{}, names.ConfigMap("echo")),
		Entry("a Service", &corev1.Service{}, "echo"),
		Entry("a NetworkPolicy", &networkingv1.NetworkPolicy{}, "echo"),
		Entry("a Deployment", &appsv1.Deployment{}, "echo"),
	}

	DescribeTable("takes back what it has made and nobody owns any more",
		func(ctx context.Context, kind client.Object, name string) {
			agent := makeAgent(b.namespace, "echo")
			b.expectReady(ctx, agent)
			obj := kind.DeepCopyObject().(client.Object)
			Expect(cluster.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, obj)).To(Succeed())
			before := specOf(obj)
			expectEdited(ctx, obj, func(o client.Object) { o.SetOwnerReferences(nil) })
			b.expectReconciled(ctx, agent)
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			Expect(specOf(obj)).To(Equal(before))
			b.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
			b.expectConverged(ctx, agent)
		},
		orphans,
	)

	It("goes on with what a former Agent of its name has left behind on purpose", func(ctx context.Context) {
		former := makeAgent(b.namespace, "echo")
		pod := b.expectReady(ctx, former)
		deployment := deploymentOf(ctx, former)
		// As the garbage collector does for --cascade=orphan.
		for _, kind := range []client.Object{&corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &appsv1.Deployment{}} {
			name := "echo"
			if _, contract := kind.(*corev1.ConfigMap); contract {
				name = names.ConfigMap("echo")
			}
			Expect(cluster.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, kind)).To(Succeed())
			expectEdited(ctx, kind, func(o client.Object) { o.SetOwnerReferences(nil) })
		}
		stale := former.DeepCopy()
		Expect(cluster.Delete(ctx, former)).To(Succeed())
		b.requests = nil
		_, err := b.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(b.requests).NotTo(ContainElement(HavePrefix("apply Deployment")), "the former Agent takes nothing back")

		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		now := deploymentOf(ctx, agent)
		Expect(metav1.IsControlledBy(now, agent)).To(BeTrue())
		Expect(now.UID).To(Equal(deployment.UID))
		Expect(now.Spec).To(Equal(deployment.Spec), "no pod restarts")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	})

	It("makes nothing again for an Agent that is gone, while its cache still shows it", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		expectGone := func(stale *a2av1alpha1.Agent) {
			GinkgoHelper()
			// As the garbage collector does.
			Expect(cluster.Delete(ctx, deploymentOf(ctx, stale))).To(Succeed())
			b.requests = nil
			_, err := b.reconciler.Reconcile(ctx, stale)
			Expect(err).NotTo(HaveOccurred())
			Expect(b.requests).To(Equal([]string{"list"}), "it asks, and writes nothing")
		}
		stale := agent.DeepCopy()
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		expectGone(stale)

		By("an Agent that the cache shows as it was before anything was made of it")
		early := makeAgent(b.namespace, "early")
		expectApplied(ctx, early)
		Expect(cluster.Delete(ctx, early.DeepCopy())).To(Succeed())
		_, err := b.reconciler.Reconcile(ctx, early)
		Expect(err).NotTo(HaveOccurred())
		// The cache has shown the object in between.
		_, err = b.reconciler.Reconcile(ctx, early)
		Expect(err).NotTo(HaveOccurred())
		expectGone(early)
	})

	It("makes nothing again for an Agent that is gone and never had all its objects", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected")
		stale := agent.DeepCopy()
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		Expect(cluster.Delete(ctx, read[corev1.Service](ctx, agent, "echo"))).To(Succeed())
		b.requests = nil
		_, err := b.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(b.requests).To(Equal([]string{"list"}))
	})

	It("makes again what somebody has deleted", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		Expect(cluster.Delete(ctx, read[corev1.Service](ctx, agent, "echo"))).To(Succeed())
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"list", "apply Service"}))
		b.expectConverged(ctx, agent)
	})

	It("waits for the objects of a former Agent of the same name", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(cluster.Delete(ctx, agent)).To(Succeed())

		again := makeAgent(b.namespace, "echo")
		expectApplied(ctx, again)
		b.expectReconciled(ctx, again)
		expectCondition(again, a2av1alpha1.ConditionProgrammed, "False Conflict", "belongs to a deleted Agent of the same name and is being removed")
	})
})

var _ = Describe("an Agent when the API server does not do as it is told", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	It("tells of a write that is forbidden, and tries again later", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.fail["Service"] = apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "echo", errors.New("exceeded quota: small"))
		result := b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", `Service "echo"`, "ask who installed the operator", "exceeded quota: small")
		Expect(result.RequeueAfter).To(Equal(time.Minute))

		By("events about it, meanwhile")
		for range 3 {
			b.clock.SetTime(b.clock.Now().Add(10 * time.Second))
			result = b.expectReconciled(ctx, agent)
			Expect(b.requests).To(BeEmpty())
		}
		Expect(result.RequeueAfter).To(Equal(30 * time.Second))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", "exceeded quota: small")

		By("a quota that was raised")
		delete(b.fail, "Service")
		b.clock.SetTime(b.clock.Now().Add(result.RequeueAfter))
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(ContainElement("apply Service"))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
	})

	It("tells of an object that it may not delete, and publishes the card all the same", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		pod := b.expectReady(ctx, agent)
		const kind = "*v1.NetworkPolicy"
		b.fail[kind] = apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "echo", errors.New("not without a word"))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.NetworkPolicy.Management, a.Spec.Description = a2av1alpha1.NetworkPolicyNone, "Says it once more."
		})
		result := b.expectReconciled(ctx, agent)
		Expect(result.RequeueAfter).To(Equal(time.Minute))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", `NetworkPolicy "echo"`, "not without a word", "delete it, or ask who installed the operator")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "True Published")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations[a2av1alpha1.AnnotationConfigDigest]).To(Equal(configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]))
		b.expectConverged(ctx, agent)

		By("a policy that is gone")
		delete(b.fail, kind)
		b.clock.SetTime(b.clock.Now().Add(result.RequeueAfter))
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"delete " + kind, "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		b.expectConverged(ctx, agent)
	})

	It("tells of pods that it may not tell of a new card", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		b.fail["Pod"] = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "echo-1", errors.New("hands off"))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Says it once more." })
		result := b.expectReconciled(ctx, agent)
		Expect(result.RequeueAfter).To(Equal(time.Minute))
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False Forbidden", `Pod "echo-1"`, "ask who installed the operator", "hands off")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		b.expectReconciled(ctx, agent)
		b.expectConverged(ctx, agent)

		delete(b.fail, "Pod")
		b.clock.SetTime(b.clock.Now().Add(result.RequeueAfter))
		b.expectReconciled(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
	})

	It("does not send what was refused again at each event, and sends what is put right at once", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		})
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Deployment", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected")
		for range 3 {
			b.expectReconciled(ctx, agent)
			Expect(b.requests).To(BeEmpty())
		}
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = nil
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
		})
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(ContainElement("apply Deployment"))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "True Accepted")
	})

	It("tells of what a policy of the cluster denies, and tries again later", func(ctx context.Context) {
		const reason = "only images of ours"
		policy := &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: b.namespace},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: b.namespace}},
					ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.OperationAll},
						Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
					}}},
				},
				Validations: []admissionv1.Validation{{Expression: "false", Message: reason}},
			},
		}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: b.namespace},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		}
		expectApplied(ctx, policy, binding)
		DeferCleanup(func(ctx context.Context) {
			Expect(cluster.Delete(ctx, binding)).To(Succeed())
			Expect(cluster.Delete(ctx, policy)).To(Succeed())
		})
		Eventually(func() error {
			return cluster.Create(ctx, foreignDeployment(b.namespace), client.DryRunAll)
		}).WithTimeout(30 * time.Second).Should(MatchError(ContainSubstring(reason)))

		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		result := b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", `Deployment "echo"`, "correct what it names of the Agent", reason)
		Expect(result.RequeueAfter).To(Equal(time.Minute))
	})

	It("tells of an object that the API server refuses", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.fail["Service"] = apierrors.NewBadRequest("what is that")
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False ApplyFailed", `Service "echo"`, "ask who installed the operator", "what is that")
	})

	It("returns a failure and still writes the status", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.fail["Deployment"] = apierrors.NewInternalError(errors.New("etcd is away"))
		_, err := b.reconciler.Reconcile(ctx, agent.DeepCopy())
		Expect(err).To(MatchError(ContainSubstring("apply Deployment " + b.namespace + "/echo")))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "Unknown ApplyFailed", "ask who installed the operator")
		Expect(describe(agent, a2av1alpha1.ConditionProgrammed)).NotTo(ContainSubstring("etcd"))
	})

	It("comes back quietly after a conflict", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		b.fail["Deployment"] = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "echo", errors.New("uid"))
		result := b.expectReconciled(ctx, agent)
		Expect(result.RequeueAfter).To(Equal(settleAfter))
		Expect(b.requests).NotTo(ContainElement("apply Agent/status"))
	})

	It("sends no event about a status that was not written", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}} })
		expectApplied(ctx, agent)
		b.fail["Agent/status"] = apierrors.NewInternalError(errors.New("etcd is away"))
		_, err := b.reconciler.Reconcile(ctx, agent.DeepCopy())
		Expect(err).To(HaveOccurred())
		Expect(b.happened()).To(BeEmpty())
	})
})
