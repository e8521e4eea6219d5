// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

var _ = Describe("a running manager", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) {
		created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
		Expect(cluster.Create(ctx, created)).To(Succeed())
		namespace = created.Name
	})

	agentNamed := func(name string) *a2av1alpha1.Agent {
		return &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: a2av1alpha1.AgentSpec{
				Description: "Says it again.",
				Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
				}}},
			},
		}
	}
	// reason is that of a condition of the agent's current generation.
	reason := func(agent *a2av1alpha1.Agent, condition string) func(context.Context) string {
		return func(ctx context.Context) string {
			if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
				return err.Error()
			}
			c := meta.FindStatusCondition(agent.Status.Conditions, condition)
			if c == nil || c.ObservedGeneration != agent.Generation {
				return "none yet"
			}
			return c.Reason
		}
	}
	card := func(agent *a2av1alpha1.Agent) func(context.Context) []string {
		return func(ctx context.Context) []string {
			configMap := &corev1.ConfigMap{}
			if err := cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.ConfigMap(agent.Name)}, configMap); err != nil {
				return []string{err.Error()}
			}
			decoded, err := sidecarconfig.Decode([]byte(configMap.Data[sidecarconfig.FileName]))
			if err != nil {
				return []string{err.Error()}
			}
			var ids []string
			for _, s := range decoded.Card.Skills {
				ids = append(ids, s.ID)
			}
			return ids
		}
	}

	It("sees Agents, pods and Deployments, tells what happened, and then writes nothing", func(ctx context.Context) {
		agent := agentNamed("echo")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonRolloutInProgress))

		runPod(ctx, agent, "echo-1")
		Eventually(reason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))
		Eventually(func() []string { return eventReasons(ctx, namespace) }).Should(ContainElement("Ready"))

		written := func() []string {
			return slices.DeleteFunc(sent.of(namespace), func(request string) bool { return strings.Contains(request, "/agentskills/") })
		}
		before := written()
		Expect(before).NotTo(BeEmpty())
		// Whatever the manager would still do, it would do after looking at the
		// Agent again, as it does after this.
		touched := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "unrelated"},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
		}
		Expect(cluster.Create(ctx, touched)).To(Succeed())
		Consistently(written).WithTimeout(500 * time.Millisecond).Should(Equal(before))
	})

	It("starts again without writing anything", Serial, func(ctx context.Context) {
		agent := agentNamed("echo")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		runPod(ctx, agent, "echo-1")
		Eventually(reason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))

		stop()
		before := sent.of(namespace)
		stop = start()
		other := agentNamed("other")
		Expect(cluster.Create(ctx, other)).To(Succeed())
		Eventually(reason(other, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		Consistently(func() []string {
			return slices.DeleteFunc(sent.of(namespace), func(request string) bool { return strings.Contains(request, "/other") })
		}).WithTimeout(500 * time.Millisecond).Should(Equal(before))
	})

	It("repairs objects that somebody changes or deletes", func(ctx context.Context) {
		agent := agentNamed("echo")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))

		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "echo"}}
		Expect(cluster.Patch(ctx, service, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"selector":{"a2a-operator.dev/agent":"other"}}}`)))).To(Succeed())
		Eventually(func() map[string]string {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
			return service.Spec.Selector
		}).Should(HaveKeyWithValue(a2av1alpha1.LabelAgent, "echo"))

		for _, obj := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &corev1.ServiceAccount{}} {
			obj.SetNamespace(namespace)
			obj.SetName("echo")
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			uid := obj.GetUID()
			Expect(cluster.Delete(ctx, obj)).To(Succeed())
			Eventually(func() bool {
				return cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj) == nil && obj.GetUID() != uid
			}).Should(BeTrue())
		}
	})

	It("follows skills by name and by label, and when they leave", func(ctx context.Context) {
		agent := agentNamed("echo")
		agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "named"}}
		agent.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))

		for _, name := range []string{"named", "labelled"} {
			skill := &a2av1alpha1.AgentSkill{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"team": "other"}},
				Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: name, Description: name, Tags: []string{"x"}}},
			}
			Expect(cluster.Create(ctx, skill)).To(Succeed())
		}
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"named"}))

		relabel := func(team string) {
			skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "labelled"}}
			Expect(cluster.Patch(ctx, skill, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"`+team+`"}}}`)))).To(Succeed())
		}
		relabel("search")
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"named", "labelled"}))
		relabel("other")
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"named"}))

		Expect(cluster.Delete(ctx, &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "named"}})).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))
		Expect(card(agent)(ctx)).To(Equal([]string{"named"}), "what runs is left alone")
	})

	It("tells of a skill how many Agents use it, and whether it can be used", func(ctx context.Context) {
		library := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "library-"}}
		Expect(cluster.Create(ctx, library)).To(Succeed())
		skill := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: library.Name, Name: "shared", Labels: map[string]string{"team": "search"}},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
		}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		told := func(want string) {
			GinkgoHelper()
			Eventually(func() string {
				Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
				if skill.Status.Agents == nil {
					return "nothing"
				}
				said := strconv.Itoa(int(*skill.Status.Agents))
				for _, c := range skill.Status.Conditions {
					said += " " + c.Reason
				}
				return said
			}).WithContext(ctx).WithTimeout(10 * time.Second).Should(Equal(want))
		}
		merge := func(obj client.Object, patch string) {
			GinkgoHelper()
			Expect(cluster.Patch(ctx, obj, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		}
		told("0 Accepted NotInUse")

		By("Agents that name it, select it, do both, and are not admitted")
		names, selects, both, stranger := agentNamed("names"), agentNamed("selects"), agentNamed("both"), agentNamed("stranger")
		for _, a := range []*a2av1alpha1.Agent{names, selects, both} {
			a.Namespace = library.Name
		}
		names.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "shared"}}
		selects.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
		both.Spec.SkillRefs, both.Spec.SkillSelector = names.Spec.SkillRefs, selects.Spec.SkillSelector
		stranger.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library.Name, Name: "shared"}}
		for _, a := range []*a2av1alpha1.Agent{names, selects, both, stranger} {
			Expect(cluster.Create(ctx, a)).To(Succeed())
		}
		told("3 Accepted InUse")

		By("a grant by label")
		merge(skill, `{"spec":{"allowedAgents":{"namespaces":{"from":"Selector","selector":{"matchLabels":{"shelf":"open"}}}}}}`)
		merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"shelf":"open"}}}`)
		told("4 Accepted InUse")
		merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"shelf":null}}}`)
		told("3 Accepted InUse")

		By("Agents that let it go")
		merge(names, `{"spec":{"skillRefs":null}}`)
		merge(skill, `{"metadata":{"labels":{"team":"other"}}}`)
		told("1 Accepted InUse")
		Expect(cluster.Delete(ctx, both)).To(Succeed())
		told("0 Accepted NotInUse")

		By("a schema that is none, and its correction")
		merge(skill, `{"spec":{"inputSchema":{"type":"strnig"}}}`)
		told("0 InvalidSchema NotInUse")
		Expect(skill.Status.Conditions[0].Message).To(ContainSubstring("spec.inputSchema is no JSON Schema: at '/type'"))
		merge(names, `{"spec":{"skillRefs":[{"name":"shared"}]}}`)
		Eventually(reason(names, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonInvalidSchema))
		merge(skill, `{"spec":{"inputSchema":{"type":"string"}}}`)
		told("1 Accepted InUse")
		Eventually(reason(names, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonResolved))

		By("many at once, which is one write a second at most")
		before := len(sent.of(library.Name + "/agentskills"))
		start := time.Now()
		for i := range 20 {
			a := agentNamed("many-" + strconv.Itoa(i))
			a.Namespace, a.Spec.SkillRefs = library.Name, []a2av1alpha1.AgentSkillRef{{Name: "shared"}}
			Expect(cluster.Create(ctx, a)).To(Succeed())
		}
		told("21 Accepted InUse")
		Expect(len(sent.of(library.Name+"/agentskills")) - before).To(BeNumerically("<=", int(time.Since(start)/time.Second)+2))
	})

	It("looks at remote agents beside its reconciles, and connects to nothing that is not public", func(ctx context.Context) {
		agent := &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "far"},
			Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://127.0.0.1:6443"}},
		}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonRemoteForbidden))

		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		agent.Spec.Remote.Credentials = &a2av1alpha1.RemoteCredentials{SecretRef: a2av1alpha1.RemoteSecretRef{Name: withheldSecret}}
		Expect(cluster.Update(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonRemoteCredentialsUnusable))
		Eventually(func() string {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
			return meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionAvailable).Message
		}).WithContext(ctx).Should(ContainSubstring("the operator may not get Secret"), "the shipped role has no Secrets")
	})

	It("follows skills of other namespaces, and whom they admit", func(ctx context.Context) {
		library := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "library-"}}
		Expect(cluster.Create(ctx, library)).To(Succeed())
		shared := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: library.Name, Name: "shared"},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
		}
		Expect(cluster.Create(ctx, shared)).To(Succeed())
		agent := agentNamed("echo")
		agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library.Name, Name: "shared"}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		resolved := func(want string) {
			GinkgoHelper()
			Eventually(reason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(want))
		}
		merge := func(obj client.Object, patch string) {
			GinkgoHelper()
			Expect(cluster.Patch(ctx, obj, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		}
		label := func(tier string) {
			GinkgoHelper()
			merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"tier":"`+tier+`"}}}`)
		}
		resolved(a2av1alpha1.ReasonSkillNotFound)

		By("a grant to all, and its end")
		merge(shared, `{"spec":{"allowedAgents":{"namespaces":{"from":"All"}}}}`)
		resolved(a2av1alpha1.ReasonResolved)
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"shared"}))
		merge(shared, `{"spec":{"allowedAgents":{"namespaces":{"from":"Same"}}}}`)
		resolved(a2av1alpha1.ReasonSkillNotFound)

		By("a grant by label, and labels that come and go")
		merge(shared, `{"spec":{"allowedAgents":{"namespaces":{"from":"Selector","selector":{"matchLabels":{"tier":"gold"}}}}}}`)
		label("gold")
		resolved(a2av1alpha1.ReasonResolved)
		label("tin")
		resolved(a2av1alpha1.ReasonSkillNotFound)
		label("gold")
		resolved(a2av1alpha1.ReasonResolved)

		By("a skill that is deleted while it is in use")
		Expect(cluster.Delete(ctx, shared)).To(Succeed())
		resolved(a2av1alpha1.ReasonSkillNotFound)
		Expect(card(agent)(ctx)).To(Equal([]string{"shared"}), "what runs is left alone")
	})

	It("takes its names once a foreign object has gone", func(ctx context.Context) {
		foreign := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ConfigMap("echo")}, Data: map[string]string{"mine": "yes"},
		}
		Expect(cluster.Create(ctx, foreign)).To(Succeed())
		agent := agentNamed("echo")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonConflict))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Data).To(Equal(map[string]string{"mine": "yes"}))

		Expect(cluster.Delete(ctx, foreign)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
	})

	It("writes the keys of the API server's own issuer into the contract", func(ctx context.Context) {
		agent := agentNamed("echo")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"echo"}))
		configMap := &corev1.ConfigMap{}
		Expect(cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.ConfigMap("echo")}, configMap)).To(Succeed())
		decoded, err := sidecarconfig.Decode([]byte(configMap.Data[sidecarconfig.FileName]))
		Expect(err).NotTo(HaveOccurred())
		kubernetes := decoded.Access.Authentication[0].Kubernetes
		Expect(kubernetes.Issuer).To(HavePrefix("https://"))
		Expect(string(kubernetes.Keys)).To(ContainSubstring(`"kid"`))
	})

	It("holds the Lease", func(ctx context.Context) {
		lease := &coordinationv1.Lease{}
		Eventually(func() error {
			return cluster.Get(ctx, client.ObjectKey{Namespace: leaseNamespace, Name: leaderElectionID}, lease)
		}).Should(Succeed())
		Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
	})
})

// runPod does what the Deployment controller and a kubelet would.
func runPod(ctx context.Context, agent *a2av1alpha1.Agent, name string) {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: name, Labels: deployment.Spec.Template.Labels},
		Spec:       deployment.Spec.Template.Spec,
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(cluster.Status().Update(ctx, pod)).To(Succeed())
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
	}
	Expect(cluster.Status().Update(ctx, deployment)).To(Succeed())
}

func eventReasons(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(cluster.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var reasons []string
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}
