//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("A namespace with a default memory limit and room for one pod", func() {
	It("runs an agent, whose pod is replaced after its turn by a hook that needs no request of the kubelet", func(ctx SpecContext) {
		ns := namespace(ctx)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "quota"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		}
		limitMemory(ctx, ns, "64Mi")
		Expect(cluster.Create(ctx, quota)).To(Succeed())
		agent := create(ctx, newAgent(ns, "limited", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Sidecar.PreStop = a2av1alpha1.PreStopExec
			a.Spec.Workload.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		}))
		expectReady(ctx, agent)
		before := pods(ctx, agent)
		Expect(before).To(HaveLen(1))
		Expect(before[0].Spec.Containers[0].Resources.Limits.Memory().String()).To(Equal("64Mi"))

		By("naming the quota that has no room for a second pod")
		replacePods(ctx, agent)
		Eventually(ctx, func() string { return describe(ctx, agent, a2av1alpha1.ConditionAvailable) }).
			Should(And(HavePrefix("True PodsRejected"), ContainSubstring("set spec.workload.strategy.type to Recreate")))

		By("replacing the pod during a turn")
		turn := make(chan string, 1)
		begun := make(chan struct{})
		one := connect(ctx, agent)
		go func() {
			final := "no end"
			first := true
			for e, err := range one.stream(ctx, "stream 80 100ms") {
				if err != nil {
					final = err.Error()
					break
				}
				if first && e.Text != "" {
					first = false
					close(begun)
				}
				if e.State != "" {
					final = e.State
				}
			}
			turn <- final
		}()
		Eventually(ctx, begun).Should(BeClosed())
		update(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Strategy.Type = a2av1alpha1.StrategyRecreate })
		Eventually(ctx, turn).Should(Receive(Equal("completed")))
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(&before[0]), &before[0]))
		}).WithTimeout(2 * time.Minute).Should(BeTrue())
		expectReady(ctx, agent)
		events := &corev1.EventList{}
		Expect(cluster.List(ctx, events, client.InNamespace(ns))).To(Succeed())
		for _, event := range events.Items {
			Expect(event.Reason).NotTo(Or(Equal("FailedPreStopHook"), Equal("OOMKilling")), event.Message)
		}
	})
})

var _ = Describe("A policy that adds an init container to pods", func() {
	It("leaves the agent as it is", func(ctx SpecContext) {
		ns := namespace(ctx)
		policy := &admissionv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
				MatchConstraints: &admissionv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
					ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
					}}},
				},
				Mutations: []admissionv1.Mutation{{
					PatchType: admissionv1.PatchTypeJSONPatch,
					JSONPatch: &injection,
				}},
			},
		}
		binding := &admissionv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: ns},
		}
		for _, object := range []client.Object{policy, binding} {
			Expect(cluster.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
		}
		Eventually(ctx, func(g Gomega) {
			admitted := restrictedPod(ns)
			g.Expect(cluster.Create(ctx, admitted, client.DryRunAll)).To(Succeed())
			g.Expect(admitted.Spec.InitContainers).To(HaveLen(2))
		}).Should(Succeed())

		agent := create(ctx, newAgent(ns, "injected"))
		expectReady(ctx, agent)
		Expect(pods(ctx, agent)[0].Spec.InitContainers[0].Name).To(Equal("injected"))
		replacePods(ctx, agent)
		expectReady(ctx, agent)
		deployment := &appsv1.Deployment{}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
		Consistently(ctx, func(g Gomega) {
			now := &appsv1.Deployment{}
			g.Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), now)).To(Succeed())
			g.Expect(now.Generation).To(Equal(deployment.Generation))
		}).WithTimeout(5 * time.Second).Should(Succeed())
		Expect(sendText(ctx, agent, "hello")).To(HaveField("State", "completed"))
	})
})

// injection adds an init container before the others of a pod, as the injectors of meshes and of secrets do.
var injection = admissionv1.JSONPatch{Expression: `has(object.spec.initContainers) && object.spec.initContainers.exists(c, c.name == "injected") ? [] :
	has(object.spec.initContainers) && object.spec.initContainers.size() > 0 ?
	[JSONPatch{op: "add", path: "/spec/initContainers/0", value: ` + injected + `}] :
	[JSONPatch{op: "add", path: "/spec/initContainers", value: []}, JSONPatch{op: "add", path: "/spec/initContainers/-", value: ` + injected + `}]`}

const injected = `Object.spec.initContainers{
	name: "injected", image: "a2a-operator/sidecar:dev", command: ["/sidecar", "--version"],
	securityContext: Object.spec.initContainers.securityContext{
		allowPrivilegeEscalation: false, runAsNonRoot: true,
		capabilities: Object.spec.initContainers.securityContext.capabilities{drop: ["ALL"]},
		seccompProfile: Object.spec.initContainers.securityContext.seccompProfile{type: "RuntimeDefault"}
	}
}`

// restrictedPod returns a pod with an init container that meets the level restricted of Pod Security.
func restrictedPod(namespace string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
		Spec: corev1.PodSpec{
			InitContainers:  []corev1.Container{{Name: "first", Image: testAgentImage}},
			Containers:      []corev1.Container{{Name: "agent", Image: testAgentImage}},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		},
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		containers[0].SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	}
	return pod
}
