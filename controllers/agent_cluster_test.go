// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// inNamespace matches requests for a kind in a namespace.
func inNamespace(namespace, group, kinds string, operations ...admissionv1.OperationType) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: operations,
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{kinds}},
		}}},
	}
}

// newPod returns a pod from the template of an Agent's Deployment, as its controller creates it.
func newPod(ctx context.Context, agent *a2av1alpha1.Agent) *corev1.Pod {
	GinkgoHelper()
	template := deploymentOf(ctx, agent).Spec.Template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, GenerateName: agent.Name + "-", Labels: template.Labels, Annotations: template.Annotations},
		Spec:       template.Spec,
	}
}

// expectRefused lets the API server refuse a pod, and reports that as the controller of the Deployment does.
func (f *fixture) expectRefused(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	var refusal error
	Eventually(func() error {
		refusal = cluster.Create(ctx, newPod(ctx, agent), client.DryRunAll)
		return refusal
	}).WithTimeout(30 * time.Second).Should(HaveOccurred())
	deployment := deploymentOf(ctx, agent)
	deployment.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: refusal.Error(),
	}}
	Expect(cluster.Status().Update(ctx, deployment)).To(Succeed())
	f.expectReconciled(ctx, agent)
}

var _ = Describe("an Agent in a cluster with policies", func() {
	var f *fixture
	var agent *a2av1alpha1.Agent
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		agent = makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
	})
	resources := func(ctx context.Context, set *a2av1alpha1.SidecarResources) {
		GinkgoHelper()
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Sidecar.Resources = set
			a.Spec.Workload.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: set.Requests, Limits: set.Limits}
		})
		f.expectReconciled(ctx, agent)
	}

	It("has pods without a user, so that a policy may choose it, and runs on when the policy begins", func(ctx context.Context) {
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(65532))}
		})
		f.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		f.expectReconciled(ctx, agent)
		inRange := func(of string) string {
			return "(!has(" + of + ".securityContext) || !has(" + of + ".securityContext.runAsUser) || (" + of + ".securityContext.runAsUser >= 1000700000 && " + of + ".securityContext.runAsUser < 1000710000))"
		}
		policy := &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: inNamespace(f.namespace, "", "pods", admissionv1.Create),
				Validations: []admissionv1.Validation{{
					Expression: inRange("object.spec") + " && object.spec.containers.all(c, " + inRange("c") + ") && (!has(object.spec.initContainers) || object.spec.initContainers.all(c, " + inRange("c") + "))",
					Message:    "runAsUser must be in the ranges: [1000700000, 1000709999]",
				}},
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
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(BeEmpty(), "an agent that runs stays as it is when the policy begins")
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Annotations = map[string]string{"example.com/rolled": "yes"}
		})
		f.expectReconciled(ctx, agent)
		setRollout(ctx, agent, 1, 0, 1)
		f.expectRefused(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True PodsRejected", "remove runAsUser and runAsGroup from spec.workload.template.spec")

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.SecurityContext = nil })
		f.expectReconciled(ctx, agent)
		pod := newPod(ctx, agent)
		Expect(cluster.Create(ctx, pod, client.DryRunAll)).To(Succeed())
		pod = newPod(ctx, agent)
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000700000)), FSGroup: new(int64(1000700000))}
		Expect(cluster.Create(ctx, pod, client.DryRunAll)).To(Succeed())
	})

	It("names the fields that a LimitRange refuses", func(ctx context.Context) {
		resources(ctx, &a2av1alpha1.SidecarResources{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		})
		expectApplied(ctx, &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "limits"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer,
				Min:  corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
				Max:  corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi"), corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		})
		f.expectRefused(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False PodsRejected",
			"raise spec.workload.sidecar.resources.requests.memory", "raise spec.workload.template.spec.containers[0].resources.requests.memory",
			"lower spec.workload.sidecar.resources.limits.memory")
		resources(ctx, &a2av1alpha1.SidecarResources{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		})
		Expect(cluster.Create(ctx, newPod(ctx, agent), client.DryRunAll)).To(Succeed())
	})

	It("names the fields that a quota requires, and the pod that fills it", func(ctx context.Context) {
		pod := runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "quota"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				corev1.ResourceLimitsCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("1"),
			}},
		}
		expectApplied(ctx, quota)
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{
			corev1.ResourceLimitsCPU: resource.MustParse("0"), corev1.ResourcePods: resource.MustParse("1"),
		}}
		Expect(cluster.Status().Update(ctx, quota)).To(Succeed())
		resources(ctx, &a2av1alpha1.SidecarResources{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}})
		setRollout(ctx, agent, 1, 0, 1)
		f.expectRefused(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True PodsRejected",
			"set spec.workload.sidecar.resources.limits.cpu", "set spec.workload.template.spec.containers[0].resources.limits.cpu")

		resources(ctx, &a2av1alpha1.SidecarResources{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}})
		Expect(cluster.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}})).To(Succeed())
		setRollout(ctx, agent, 1, 0, 1)
		f.expectRefused(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True PodsRejected",
			`pod "echo-1" of the earlier spec holds pods of the quota until the new pod is ready: set spec.workload.strategy.type to Recreate`)

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Strategy.Type = a2av1alpha1.StrategyRecreate })
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Strategy).To(Equal(appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}))
		none := intstr.FromInt32(0)
		all := intstr.FromString("100%")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Strategy = a2av1alpha1.AgentStrategy{RollingUpdate: &a2av1alpha1.AgentRollingUpdate{MaxSurge: &none, MaxUnavailable: &all}}
		})
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Strategy.RollingUpdate).To(Equal(&appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &all}))
	})

	It("names a RuntimeClass that does not exist", func(ctx context.Context) {
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.RuntimeClassName = new("gvisor") })
		f.expectReconciled(ctx, agent)
		f.expectRefused(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False PodsRejected", `RuntimeClass "gvisor" not found`, `create RuntimeClass "gvisor", or correct spec.workload.template.spec.runtimeClassName`)
	})

	It("leaves the values of a policy that changes each write, and names the field", func(ctx context.Context) {
		policy, binding := f.rewriteDeployments(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" })
		f.expectReconciled(ctx, agent)
		f.expectReconciled(ctx, agent)
		generation := deploymentOf(ctx, agent).Generation
		for range 10 {
			f.clock.SetTime(f.clock.Now().Add(3 * time.Minute))
			setRollout(ctx, agent, 1, 1, 1)
			f.expectReconciled(ctx, agent)
			Expect(f.requests).NotTo(ContainElement("apply Deployment"), "a policy costs no writes in steady state")
			expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True FieldsContested", "An admission webhook or a policy changes fields",
				`spec.template.spec.initContainers[a2a-sidecar].image of Deployment "echo"`)
		}
		Expect(deploymentOf(ctx, agent).Generation).To(Equal(generation))

		Expect(cluster.Delete(ctx, binding)).To(Succeed())
		Expect(cluster.Delete(ctx, policy)).To(Succeed())
		Eventually(func(g Gomega) {
			f.clock.SetTime(f.clock.Now().Add(2 * time.Hour))
			f.expectReconciled(ctx, agent)
			g.Expect(deploymentOf(ctx, agent).Spec.Template.Spec.InitContainers[0].Image).To(Equal(testPlatform.SidecarImage))
		}).WithTimeout(30 * time.Second).Should(Succeed())
	})

	// A2A_POLICY_AGENTS sets the number of Agents; hundreds take minutes.
	It("does not fight for many Agents with a policy that changes each write", func(ctx context.Context) {
		number, _ := strconv.Atoi(os.Getenv("A2A_POLICY_AGENTS"))
		number = max(number, 5)
		f.rewriteDeployments(ctx, agent)
		agents := make([]*a2av1alpha1.Agent, number)
		for i := range agents {
			agents[i] = makeAgent(f.namespace, fmt.Sprintf("many-%d", i))
			expectApplied(ctx, agents[i])
			for range 3 {
				f.expectReconciled(ctx, agents[i])
			}
		}
		var requests []string
		for range 10 { // 30 minutes
			f.clock.SetTime(f.clock.Now().Add(3 * time.Minute))
			for _, each := range agents {
				f.expectReconciled(ctx, each)
				for _, request := range f.requests {
					requests = append(requests, each.Name+": "+request)
				}
			}
		}
		Expect(requests).To(BeEmpty(), "requests of %d Agents in half an hour", number)
	})
})

// rewriteDeployments creates a policy that changes each write of a Deployment in the namespace, and returns when it is in effect.
func (f *fixture) rewriteDeployments(ctx context.Context, agent *a2av1alpha1.Agent) (*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding) {
	GinkgoHelper()
	mutating := schema.GroupKind{Group: admissionv1.GroupName, Kind: "MutatingAdmissionPolicy"}
	if _, err := cluster.RESTMapper().RESTMapping(mutating, "v1"); meta.IsNoMatchError(err) {
		Skip("the API server does not serve MutatingAdmissionPolicy v1")
	}
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints:   inNamespace(f.namespace, "apps", "deployments", admissionv1.Create, admissionv1.Update),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: `[
					JSONPatch{op: "replace", path: "/spec/template/spec/initContainers/0/image", value: "mirror.example/sidecar:1"},
					JSONPatch{op: "add", path: "/metadata/labels/team", value: "search"}]`},
			}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	expectApplied(ctx, policy, binding)
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(cluster.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(cluster.Delete(ctx, policy))).To(Succeed())
	})
	Eventually(func(g Gomega) {
		changed := deploymentOf(ctx, agent)
		changed.Annotations["touched"] = time.Now().String()
		g.Expect(cluster.Update(ctx, changed, client.DryRunAll)).To(Succeed())
		g.Expect(changed.Spec.Template.Spec.InitContainers[0].Image).To(HavePrefix("mirror.example/"))
	}).WithTimeout(30 * time.Second).Should(Succeed())
	return policy, binding
}

var _ = Describe("the ServiceAccount of an Agent", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("is the one that the template names, even if it has the name of the Agent", func(ctx context.Context) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: "echo", Annotations: map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/echo"},
		}}
		expectApplied(ctx, account)
		before := specOf(account)
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.ServiceAccountName = "echo" })
		f.expectReady(ctx, agent)
		Expect(specOf(read[corev1.ServiceAccount](ctx, agent, "echo"))).To(Equal(before))
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.ServiceAccountName).To(Equal("echo"))
		f.expectInSync(ctx, agent)

		other := makeAgent(f.namespace, "other", func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.ServiceAccountName = "echo" })
		f.expectReady(ctx, other)
		err := cluster.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "other"}, &corev1.ServiceAccount{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "error = %v", err)
	})

	It("stays when the template begins to name one, because pods of the earlier spec use it", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.ServiceAccountName = "cloud" })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).NotTo(ContainElement(HavePrefix("delete")))
		read[corev1.ServiceAccount](ctx, agent, "echo")
	})
})

var _ = Describe("a restart of an Agent", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })
	template := func(ctx context.Context, agent *a2av1alpha1.Agent) map[string]string {
		GinkgoHelper()
		return deploymentOf(ctx, agent).Spec.Template.Annotations
	}

	It("follows the annotation of kubectl a2a restart", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		generation := deploymentOf(ctx, agent).Generation
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			metav1.SetMetaDataAnnotation(&a.ObjectMeta, a2av1alpha1.AnnotationRestartedAt, "2026-11-29T09:00:00Z")
		})
		f.expectReconciled(ctx, agent)
		Expect(template(ctx, agent)).To(HaveKeyWithValue(a2av1alpha1.AnnotationRestartedAt, "2026-11-29T09:00:00Z"))
		Expect(deploymentOf(ctx, agent).Generation).To(Equal(generation + 1))
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)
	})

	It("keeps the annotations of reloaders and of kubectl rollout restart", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		deployment := deploymentOf(ctx, agent)
		before := deployment.DeepCopy()
		deployment.Annotations["reloader.stakater.com/auto"] = "true"
		deployment.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-11-29T09:00:00Z"
		Expect(cluster.Patch(ctx, deployment, client.StrategicMergeFrom(before), client.FieldOwner("reloader"))).To(Succeed())
		f.expectReconciled(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" })
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Annotations).To(HaveKeyWithValue("reloader.stakater.com/auto", "true"))
		Expect(template(ctx, agent)).To(HaveKeyWithValue("kubectl.kubernetes.io/restartedAt", "2026-11-29T09:00:00Z"))
	})

	It("follows the objects of spec.workload.restartOn", func(ctx context.Context) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "keys"}, Data: map[string][]byte{"a": []byte("1")}}
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "settings"}}
		expectApplied(ctx, secret, settings)
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.RestartOn = []a2av1alpha1.RestartReference{
				{Kind: a2av1alpha1.RestartSecret, Name: "keys"}, {Kind: a2av1alpha1.RestartConfigMap, Name: "settings"}, {Kind: a2av1alpha1.RestartConfigMap, Name: "none"},
			}
		})
		expectApplied(ctx, agent)
		Expect(f.expectReconciled(ctx, agent).RequeueAfter).To(BeNumerically("<=", time.Minute))
		versions := func() string {
			return "ConfigMap/settings=" + settings.ResourceVersion + ",Secret/keys=" + secret.ResourceVersion
		}
		Expect(template(ctx, agent)).To(HaveKeyWithValue(a2av1alpha1.AnnotationRestartOn, versions()))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True RestartObjectUnknown", `ConfigMap "none" of spec.workload.restartOn[2] does not exist`)

		expectEdited(ctx, secret, func(s *corev1.Secret) { s.Data["a"] = []byte("2") })
		expectEdited(ctx, settings, func(m *corev1.ConfigMap) { m.Data = map[string]string{"a": "1"} })
		f.clock.SetTime(f.clock.Now().Add(time.Minute))
		f.expectReconciled(ctx, agent)
		Expect(template(ctx, agent)).To(HaveKeyWithValue(a2av1alpha1.AnnotationRestartOn, versions()))

		before := versions()
		Expect(cluster.Delete(ctx, secret)).To(Succeed())
		f.clock.SetTime(f.clock.Now().Add(time.Minute))
		f.expectReconciled(ctx, agent)
		Expect(template(ctx, agent)).To(HaveKeyWithValue(a2av1alpha1.AnnotationRestartOn, before), "the loss of a Secret stops no pod")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True RestartObjectUnknown", `Secret "keys" of spec.workload.restartOn[0] does not exist`)

		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "keys"}}
		expectApplied(ctx, secret)
		f.forbidden = true
		f.clock.SetTime(f.clock.Now().Add(time.Minute))
		f.expectReconciled(ctx, agent)
		Expect(template(ctx, agent)).To(HaveKeyWithValue(a2av1alpha1.AnnotationRestartOn, before))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True RestartObjectUnknown", `Secret "keys" of spec.workload.restartOn[0] cannot be read by the operator`, "rbac.readSecrets")
		f.forbidden = false
		f.clock.SetTime(f.clock.Now().Add(time.Minute))
		f.expectReconciled(ctx, agent)
		Expect(template(ctx, agent)).To(HaveKeyWithValue(a2av1alpha1.AnnotationRestartOn, versions()))
	})
})
