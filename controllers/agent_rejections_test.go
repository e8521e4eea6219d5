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
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

var _ = Describe("an Agent with a user error in its spec", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("reports every clash with the sidecar and does not change the Deployment", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		before := specOf(deploymentOf(ctx, agent))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			c := &a.Spec.Workload.Template.Spec.Containers[0]
			c.Ports = []corev1.ContainerPort{{ContainerPort: 8642}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: a2av1alpha1.VolumeToken, MountPath: "/stolen"}}
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False PortConflict",
			"spec.workload.template.spec.containers[0].ports[0].containerPort must not be 8642", "containers[0].volumeMounts[0].name")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(specOf(deploymentOf(ctx, agent))).To(Equal(before))
		f.expectInSync(ctx, agent)
	})

	It("reports the API server's rejection of the template and writes nothing else", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		before := []string{specOf(deploymentOf(ctx, agent)), specOf(configMapOf(ctx, agent))}
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Description = "Another description."
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected", "spec.workload.template", `Not found: "nowhere"`)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked")
		Expect([]string{specOf(deploymentOf(ctx, agent)), specOf(configMapOf(ctx, agent))}).To(Equal(before))
	})

	It("names the Agent's field where the API server names the Deployment's field", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NOT=A_NAME"}}
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected", "spec.workload.template.spec.containers[0].env[0].name: Invalid value")
	})

	It("reports a duplicate port and does not change the Deployment", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		before := specOf(deploymentOf(ctx, agent))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{
				{ContainerPort: 8080}, {Name: "udp", ContainerPort: 8080, Protocol: corev1.ProtocolUDP}, {Name: "again", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
			}
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected",
			`containers[name="agent"].ports: duplicate entries for key [containerPort=8080,protocol="TCP"]`)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(specOf(deploymentOf(ctx, agent))).To(Equal(before))
	})

	It("reports an invalid egress rule and does not change the Deployment", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
			a.Spec.NetworkPolicy.Egress = &[]networkingv1.NetworkPolicyEgressRule{{}, {To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.1/99"}}}}}
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False NetworkPolicyRejected",
			"correct it", `spec.networkPolicy.egress[1].to[0].ipBlock.cidr: Invalid value: "10.0.0.1/99"`)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:1"))
	})

	It("keeps the preStop hook of the template and reports that", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
				PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}},
			}
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True PreStopKept", "containers[0].lifecycle.preStop")
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Lifecycle.PreStop.Exec.Command).To(Equal([]string{"bye"}))
	})
})

var _ = Describe("an Agent whose name an object of another owner has", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

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

	DescribeTable("writes nothing and reports a conflict",
		func(ctx context.Context, foreign func(namespace string) client.Object, kind string) {
			obj := foreign(f.namespace)
			expectApplied(ctx, obj)
			before := specOf(obj)
			agent := makeAgent(f.namespace, "echo")
			expectApplied(ctx, agent)
			f.expectReconciled(ctx, agent)
			Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
			expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Conflict", kind, "delete this Agent and create it with another metadata.name, or delete the")
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			Expect(specOf(obj)).To(Equal(before))
			f.expectInSync(ctx, agent)

			Expect(cluster.Delete(ctx, obj)).To(Succeed())
			f.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		},
		foreign,
	)

	DescribeTable("does not change an object that the cache does not show yet",
		func(ctx context.Context, foreign func(namespace string) client.Object, _ string) {
			obj := foreign(f.namespace)
			expectApplied(ctx, obj)
			before := specOf(obj)
			agent := makeAgent(f.namespace, "echo")
			expectApplied(ctx, agent)

			f.notCached = obj
			Expect(f.expectReconciled(ctx, agent).RequeueAfter).To(Equal(time.Second))
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			Expect(specOf(obj)).To(Equal(before))
			Expect(f.requests).NotTo(ContainElement("apply Agent/status"))

			f.notCached = nil
			f.expectReconciled(ctx, agent)
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

	DescribeTable("adopts an orphan that it wrote",
		func(ctx context.Context, kind client.Object, name string) {
			agent := makeAgent(f.namespace, "echo")
			f.expectReady(ctx, agent)
			obj := kind.DeepCopyObject().(client.Object)
			Expect(cluster.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, obj)).To(Succeed())
			before := specOf(obj)
			expectEdited(ctx, obj, func(o client.Object) { o.SetOwnerReferences(nil) })
			f.expectReconciled(ctx, agent)
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			Expect(specOf(obj)).To(Equal(before))
			f.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
			f.expectInSync(ctx, agent)
		},
		orphans,
	)

	It("adopts the objects that a former Agent of its name orphaned on purpose", func(ctx context.Context) {
		former := makeAgent(f.namespace, "echo")
		pod := f.expectReady(ctx, former)
		deployment := deploymentOf(ctx, former)
		// Remove the owner references, as the garbage collector does for
		// --cascade=orphan.
		for _, kind := range []client.Object{&corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &appsv1.Deployment{}} {
			name := "echo"
			if _, ok := kind.(*corev1.ConfigMap); ok {
				name = names.ConfigMap("echo")
			}
			Expect(cluster.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, kind)).To(Succeed())
			expectEdited(ctx, kind, func(o client.Object) { o.SetOwnerReferences(nil) })
		}
		stale := former.DeepCopy()
		Expect(cluster.Delete(ctx, former)).To(Succeed())
		f.requests = nil
		_, err := f.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.requests).NotTo(ContainElement(HavePrefix("apply Deployment")), "the deleted Agent adopts nothing")

		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		now := deploymentOf(ctx, agent)
		Expect(metav1.IsControlledBy(now, agent)).To(BeTrue())
		Expect(now.UID).To(Equal(deployment.UID))
		Expect(now.Spec).To(Equal(deployment.Spec), "no pod restarts")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	})

	It("creates nothing for a deleted Agent that its cache still shows", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		expectGone := func(stale *a2av1alpha1.Agent) {
			GinkgoHelper()
			// Delete the Deployment, as the garbage collector does after the Agent is
			// deleted.
			Expect(cluster.Delete(ctx, deploymentOf(ctx, stale))).To(Succeed())
			f.requests = nil
			_, err := f.reconciler.Reconcile(ctx, stale)
			Expect(err).NotTo(HaveOccurred())
			Expect(f.requests).To(Equal([]string{"list"}), "one live read and no write")
		}
		stale := agent.DeepCopy()
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		expectGone(stale)

		By("an Agent whose cached state is older than its objects")
		early := makeAgent(f.namespace, "early")
		expectApplied(ctx, early)
		Expect(cluster.Delete(ctx, early.DeepCopy())).To(Succeed())
		_, err := f.reconciler.Reconcile(ctx, early)
		Expect(err).NotTo(HaveOccurred())
		// The first reconcile wrote the objects of the deleted Agent. In the second,
		// the cache shows these objects.
		_, err = f.reconciler.Reconcile(ctx, early)
		Expect(err).NotTo(HaveOccurred())
		expectGone(early)
	})

	It("creates nothing for a deleted Agent that never had all its objects", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected")
		stale := agent.DeepCopy()
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		Expect(cluster.Delete(ctx, read[corev1.Service](ctx, agent, "echo"))).To(Succeed())
		f.requests = nil
		_, err := f.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.requests).To(Equal([]string{"list"}))
	})

	It("creates a deleted object again", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		Expect(cluster.Delete(ctx, read[corev1.Service](ctx, agent, "echo"))).To(Succeed())
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"list", "apply Service"}))
		f.expectInSync(ctx, agent)
	})

	It("waits until the objects of a deleted Agent of the same name are gone", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(cluster.Delete(ctx, agent)).To(Succeed())

		again := makeAgent(f.namespace, "echo")
		expectApplied(ctx, again)
		f.expectReconciled(ctx, again)
		expectCondition(again, a2av1alpha1.ConditionProgrammed, "False Conflict", "belongs to a deleted Agent of the same name, and the garbage collector deletes it soon")
	})
})

var _ = Describe("an Agent whose writes the API server rejects", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("reports a forbidden write and retries it later", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.fail["Service"] = apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "echo", errors.New("exceeded quota: small"))
		result := f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", `Service "echo"`, "ask the administrator of the operator", "exceeded quota: small")
		Expect(result.RequeueAfter).To(Equal(5 * time.Second))

		By("events before the retry")
		for range 3 {
			f.clock.SetTime(f.clock.Now().Add(time.Second))
			result = f.expectReconciled(ctx, agent)
			Expect(f.requests).To(BeEmpty())
		}
		Expect(result.RequeueAfter).To(Equal(2 * time.Second))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", "exceeded quota: small")

		By("raising the quota")
		delete(f.fail, "Service")
		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply Service"))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
	})

	It("reports a forbidden deletion and still publishes the card", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		pod := f.expectReady(ctx, agent)
		const kind = "*v1.NetworkPolicy"
		f.fail[kind] = apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "echo", errors.New("not without a word"))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.NetworkPolicy.Management, a.Spec.Description = a2av1alpha1.NetworkPolicyNone, "Repeats it once more."
		})
		result := f.expectReconciled(ctx, agent)
		Expect(result.RequeueAfter).To(Equal(5 * time.Second))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", `NetworkPolicy "echo"`, "not without a word", "delete it, or ask the administrator of the operator")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "True Published")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations[a2av1alpha1.AnnotationConfigDigest]).To(Equal(configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]))
		f.expectInSync(ctx, agent)

		By("removing the policy")
		delete(f.fail, kind)
		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"delete " + kind, "list", "apply ControllerRevision", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		f.expectInSync(ctx, agent)
	})

	It("reports that it may not annotate a pod", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		f.fail["Pod"] = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "echo-1", errors.New("hands off"))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Repeats it once more." })
		result := f.expectReconciled(ctx, agent)
		Expect(result.RequeueAfter).To(Equal(5 * time.Second))
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False Forbidden", `Pod "echo-1"`, "ask the administrator of the operator", "hands off")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)

		delete(f.fail, "Pod")
		f.clock.SetTime(f.clock.Now().Add(result.RequeueAfter))
		f.expectReconciled(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
	})

	It("does not repeat a rejected write at each event, and sends a corrected one at once", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		})
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Deployment", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TemplateRejected")
		for range 3 {
			f.expectReconciled(ctx, agent)
			Expect(f.requests).To(BeEmpty())
		}
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].VolumeMounts = nil
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
		})
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply Deployment"))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "True Accepted")
	})

	It("reports a denial by a ValidatingAdmissionPolicy and retries later", func(ctx context.Context) {
		const reason = "only images of ours"
		policy := &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.namespace}},
					ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.OperationAll},
						Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
					}}},
				},
				Validations: []admissionv1.Validation{{Expression: "false", Message: reason}},
			},
		}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
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
			return cluster.Create(ctx, foreignDeployment(f.namespace), client.DryRunAll)
		}).WithTimeout(30 * time.Second).Should(MatchError(ContainSubstring(reason)))

		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		result := f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Forbidden", `Deployment "echo"`, "correct the fields of the Agent", reason)
		Expect(result.RequeueAfter).To(Equal(5 * time.Second))
	})

	It("reports a bad request", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.fail["Service"] = apierrors.NewBadRequest("what is that")
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False ApplyFailed", `Service "echo"`, "ask the administrator of the operator", "what is that")
	})

	It("returns an internal error and still writes the status", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.fail["Deployment"] = apierrors.NewInternalError(errors.New("etcd is not available"))
		_, err := f.reconciler.Reconcile(ctx, agent.DeepCopy())
		Expect(err).To(MatchError(ContainSubstring("apply Deployment " + f.namespace + "/echo")))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "Unknown ApplyFailed", "log")
		Expect(describe(agent, a2av1alpha1.ConditionProgrammed)).NotTo(ContainSubstring("etcd"))
	})

	It("reconciles again after a write conflict, without an error", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.fail["Deployment"] = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "echo", errors.New("uid"))
		result := f.expectReconciled(ctx, agent)
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(f.requests).NotTo(ContainElement("apply Agent/status"))
	})

	It("does not write its status to a new Agent of the same name", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		stale := agent.DeepCopy()
		stale.Status.Conditions = nil
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		again := makeAgent(f.namespace, "echo")
		expectApplied(ctx, again)
		f.requests = nil
		result, err := f.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(again), again)).To(Succeed())
		Expect(describe(again, a2av1alpha1.ConditionReady)).To(BeEmpty())
		Expect(f.newEvents()).To(BeEmpty())
	})

	It("writes its status again before the cache shows the last write", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		stale := agent.DeepCopy()
		_, err := f.reconciler.Reconcile(ctx, stale.DeepCopy())
		Expect(err).NotTo(HaveOccurred())
		runDeployment(ctx, agent, agent.Name+"-1", true, f.runningNow())
		f.requests = nil
		_, err = f.reconciler.Reconcile(ctx, stale.DeepCopy())
		Expect(err).NotTo(HaveOccurred())
		Expect(f.requests).To(ContainElement("apply Agent/status"))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
	})

	It("does not write the status of an AgentSkill to a new one of the same name", func(ctx context.Context) {
		skill := makeSkill(f.namespace, "calc", nil)
		expectApplied(ctx, skill)
		stale := skill.DeepCopy()
		Expect(cluster.Delete(ctx, skill)).To(Succeed())
		again := makeSkill(f.namespace, "calc", nil)
		expectApplied(ctx, again)
		result, err := NewAgentSkillReconciler(f.reconciler.config.Client, nil, &f.reconciler.config.Gather, f.clock, nil).Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(again), again)).To(Succeed())
		Expect(again.Status.Conditions).To(BeEmpty())
	})

	It("sends no event when the status was not written", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}} })
		expectApplied(ctx, agent)
		f.fail["Agent/status"] = apierrors.NewInternalError(errors.New("etcd is not available"))
		_, err := f.reconciler.Reconcile(ctx, agent.DeepCopy())
		Expect(err).To(HaveOccurred())
		Expect(f.newEvents()).To(BeEmpty())
	})
})
