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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var _ = Describe("a running manager", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) {
		namespace = createNamespace(ctx, "test-")
	})

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

	It("reconciles Agents after changes of pods and Deployments, sends events, and then writes nothing", func(ctx context.Context) {
		agent := createAgent(ctx, namespace, "echo")
		Eventually(currentReason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonRolloutInProgress))

		runPod(ctx, agent, "echo-1")
		Eventually(currentReason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))
		Eventually(func() []string { return eventReasons(ctx, namespace) }).Should(ContainElement("Ready"))

		written := func() []string {
			return slices.DeleteFunc(sent.of(namespace), func(request string) bool { return strings.Contains(request, "/agentskills/") })
		}
		before := written()
		Expect(before).NotTo(BeEmpty())
		// An AgentSkill to which no Agent refers causes no write for the Agent.
		unrelated := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "unrelated"},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
		}
		Expect(cluster.Create(ctx, unrelated)).To(Succeed())
		// A label of the Agent starts a reconcile, and no object depends on the label.
		mergePatch(ctx, agent, `{"metadata":{"labels":{"team":"a"}}}`)
		Consistently(written).WithTimeout(500 * time.Millisecond).Should(Equal(before))
	})

	It("writes nothing after a restart", Serial, func(ctx context.Context) {
		agent := createAgent(ctx, namespace, "echo")
		Eventually(currentReason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		runPod(ctx, agent, "echo-1")
		Eventually(currentReason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))

		stop()
		before := sent.of(namespace)
		stop = start()
		other := createAgent(ctx, namespace, "other")
		Eventually(currentReason(other, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		Consistently(func() []string {
			return slices.DeleteFunc(sent.of(namespace), func(request string) bool { return strings.Contains(request, "/other") })
		}).WithTimeout(500 * time.Millisecond).Should(Equal(before))
	})

	It("repairs objects that are changed or deleted", func(ctx context.Context) {
		agent := createAgent(ctx, namespace, "echo")
		Eventually(currentReason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))

		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "echo"}}
		mergePatch(ctx, service, `{"spec":{"selector":{"a2a-operator.dev/agent":"other"}}}`)
		Eventually(func(g Gomega) map[string]string {
			g.Expect(cluster.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
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

	It("follows skills by name and by label", func(ctx context.Context) {
		agent := makeAgent(namespace, "echo")
		agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "named"}}
		agent.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(currentReason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))

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
			mergePatch(ctx, skill, `{"metadata":{"labels":{"team":"`+team+`"}}}`)
		}
		relabel("search")
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"named", "labelled"}))
		relabel("other")
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"named"}))

		Expect(cluster.Delete(ctx, &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "named"}})).To(Succeed())
		Eventually(currentReason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))
		Expect(card(agent)(ctx)).To(Equal([]string{"named"}), "the published card does not change")
	})

	It("reports in the status of a skill whether it is valid and how many Agents use it", func(ctx context.Context) {
		library := createNamespace(ctx, "library-")
		skill := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: library, Name: "shared", Labels: map[string]string{"team": "search"}},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
		}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		expectStatus := func(want string) {
			GinkgoHelper()
			Eventually(func() string {
				if err := cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill); err != nil {
					return err.Error()
				}
				if skill.Status.Agents == nil {
					return "no status"
				}
				got := strconv.Itoa(int(*skill.Status.Agents))
				for _, c := range skill.Status.Conditions {
					got += " " + c.Reason
				}
				return got
			}).WithContext(ctx).Should(Equal(want))
		}
		expectStatus("0 Accepted NotInUse")

		By("Agents that refer to it, select it, do both, and are not allowed")
		refers, selects, both := makeAgent(library, "refers"), makeAgent(library, "selects"), makeAgent(library, "both")
		notAllowed := makeAgent(namespace, "not-allowed")
		refers.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "shared"}}
		selects.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
		both.Spec.SkillRefs, both.Spec.SkillSelector = refers.Spec.SkillRefs, selects.Spec.SkillSelector
		notAllowed.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library, Name: "shared"}}
		for _, a := range []*a2av1alpha1.Agent{refers, selects, both, notAllowed} {
			Expect(cluster.Create(ctx, a)).To(Succeed())
		}
		expectStatus("3 Accepted InUse")

		By("allowing namespaces by label")
		mergePatch(ctx, skill, `{"spec":{"allowedAgents":{"namespaces":{"from":"Selector","selector":{"matchLabels":{"shelf":"open"}}}}}}`)
		mergePatch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"shelf":"open"}}}`)
		expectStatus("4 Accepted InUse")
		mergePatch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"shelf":null}}}`)
		expectStatus("3 Accepted InUse")

		By("Agents that no longer refer to it")
		mergePatch(ctx, refers, `{"spec":{"skillRefs":null}}`)
		mergePatch(ctx, skill, `{"metadata":{"labels":{"team":"other"}}}`)
		expectStatus("1 Accepted InUse")
		Expect(cluster.Delete(ctx, both)).To(Succeed())
		expectStatus("0 Accepted NotInUse")

		By("an invalid schema, and its correction")
		mergePatch(ctx, skill, `{"spec":{"inputSchema":{"type":"strnig"}}}`)
		expectStatus("0 InvalidSchema NotInUse InvalidSchema") // the last reason belongs to Stalled
		Expect(skill.Status.Conditions[0].Message).To(ContainSubstring("spec.inputSchema is not a JSON Schema: at '/type'"))
		mergePatch(ctx, refers, `{"spec":{"skillRefs":[{"name":"shared"}]}}`)
		Eventually(currentReason(refers, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonInvalidSchema))
		mergePatch(ctx, skill, `{"spec":{"inputSchema":{"type":"string"}}}`)
		expectStatus("1 Accepted InUse")
		Eventually(currentReason(refers, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonResolved))

		By("many Agents at once, with at most one write per second")
		before := len(sent.of(library + "/agentskills"))
		start := time.Now()
		for i := range 20 {
			createAgent(ctx, library, "many-"+strconv.Itoa(i), a2av1alpha1.AgentSkillRef{Name: "shared"})
		}
		expectStatus("21 Accepted InUse")
		Expect(len(sent.of(library+"/agentskills")) - before).To(BeNumerically("<=", int(time.Since(start)/time.Second)+2))
	})

	It("reads the cards of remote agents, and connects to public addresses only", func(ctx context.Context) {
		agent := &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "far"},
			Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://127.0.0.1:6443"}},
		}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(currentReason(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonRemoteForbidden))

		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		agent.Spec.Remote.Credentials = &a2av1alpha1.RemoteCredentials{SecretRef: a2av1alpha1.RemoteSecretRef{Name: withheldSecret}}
		Expect(cluster.Update(ctx, agent)).To(Succeed())
		Eventually(currentReason(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonRemoteCredentialsUnusable))
		Eventually(message(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(ContainSubstring("the operator may not get Secret"), "the shipped role has no Secrets")
	})

	It("follows skills of other namespaces and the namespaces that they allow", func(ctx context.Context) {
		library := createNamespace(ctx, "library-")
		shared := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: library, Name: "shared"},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
		}
		Expect(cluster.Create(ctx, shared)).To(Succeed())
		agent := makeAgent(namespace, "echo")
		agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library, Name: "shared"}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		expectResolved := func(want string) {
			GinkgoHelper()
			Eventually(currentReason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(want))
		}
		label := func(tier string) {
			GinkgoHelper()
			mergePatch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"tier":"`+tier+`"}}}`)
		}
		expectResolved(a2av1alpha1.ReasonSkillNotFound)

		By("allowing all namespaces, and withdrawing that")
		mergePatch(ctx, shared, `{"spec":{"allowedAgents":{"namespaces":{"from":"All"}}}}`)
		expectResolved(a2av1alpha1.ReasonResolved)
		Eventually(card(agent)).WithContext(ctx).Should(Equal([]string{"shared"}))
		mergePatch(ctx, shared, `{"spec":{"allowedAgents":{"namespaces":{"from":"Same"}}}}`)
		expectResolved(a2av1alpha1.ReasonSkillNotFound)

		By("allowing namespaces by label, and changing the labels")
		mergePatch(ctx, shared, `{"spec":{"allowedAgents":{"namespaces":{"from":"Selector","selector":{"matchLabels":{"tier":"gold"}}}}}}`)
		label("gold")
		expectResolved(a2av1alpha1.ReasonResolved)
		label("tin")
		expectResolved(a2av1alpha1.ReasonSkillNotFound)
		label("gold")
		expectResolved(a2av1alpha1.ReasonResolved)

		By("deleting a skill that is in use")
		Expect(cluster.Delete(ctx, shared)).To(Succeed())
		expectResolved(a2av1alpha1.ReasonSkillNotFound)
		Expect(card(agent)(ctx)).To(Equal([]string{"shared"}), "the published card does not change")
	})

	It("resolves a conflict when the object of another owner is deleted", func(ctx context.Context) {
		foreign := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ConfigMap("echo")}, Data: map[string]string{"mine": "yes"},
		}
		Expect(cluster.Create(ctx, foreign)).To(Succeed())
		agent := createAgent(ctx, namespace, "echo")
		Eventually(currentReason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonConflict))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Data).To(Equal(map[string]string{"mine": "yes"}))

		Expect(cluster.Delete(ctx, foreign)).To(Succeed())
		Eventually(currentReason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
	})

	It("writes the keys of the cluster's token issuer into the sidecar configuration", func(ctx context.Context) {
		agent := createAgent(ctx, namespace, "echo")
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
			return cluster.Get(ctx, client.ObjectKey{Namespace: leaseNamespace, Name: operatorclaim.LeaseName(Defaults().Name)}, lease)
		}).Should(Succeed())
		Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
	})
})
