// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("an Agent with skills", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("lists them on the card in their order, and publishes their edits without a restart", func(ctx context.Context) {
		bravo := makeSkill(f.namespace, "bravo", map[string]string{"team": "search"})
		expectApplied(ctx, makeSkill(f.namespace, "zulu", nil), bravo, makeSkill(f.namespace, "alpha", map[string]string{"team": "search"}))
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "zulu"}}
			a.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
		})
		pod := f.expectReady(ctx, agent)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"zulu", "alpha", "bravo"}))
		Expect(agent.Status.Skills).To(HaveValue(BeEquivalentTo(3)))
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")

		deployment, digest := deploymentOf(ctx, agent), agent.Status.CardDigest
		expectEdited(ctx, bravo, func(s *a2av1alpha1.AgentSkill) { s.Spec.Description = "Does it better." })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply ConfigMap", "patch Pod", "list", "apply ControllerRevision", "apply Agent/status"}))
		Expect(deploymentOf(ctx, agent).ResourceVersion).To(Equal(deployment.ResourceVersion), "the Deployment does not change")
		Expect(agent.Status.CardDigest).NotTo(Equal(digest))
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(f.newEvents()).To(Equal([]string{"Normal CardChanged The card changed to " + agent.Status.CardDigest + " and lists 3 skills"}))

		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations[a2av1alpha1.AnnotationConfigDigest]).To(Equal(
			configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]))
		f.expectInSync(ctx, agent)
	})

	It("reports a missing skill, keeps the card and applies the rest of the spec", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		pod := f.expectReady(ctx, agent)
		card, digest := configurationOf(ctx, agent).Card, agent.Status.CardDigest

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Description = "Another description."
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{"left"}}}
		})
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply ConfigMap", "patch Pod", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False SkillNotFound", `spec.skillRefs[0].name: AgentSkill "gone" does not exist`, "applies the rest of the spec")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True CardKept")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False CardKept")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False SkillNotFound", `"gone"`)
		Expect(configurationOf(ctx, agent).Card).To(Equal(card))
		Expect(configurationOf(ctx, agent).Access.Authorization.Rules).To(HaveLen(1))
		Expect(agent.Status.CardDigest).To(Equal(digest))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations[a2av1alpha1.AnnotationConfigDigest]).To(Equal(
			configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]), "the pods read the rules at once")
		Expect(f.newEvents()).To(ConsistOf(HavePrefix("Warning SkillNotFound")))
		f.expectInSync(ctx, agent)

		By("editing the pod template and suspending the Agent")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
			a.Spec.Suspend = true
		})
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(BeEquivalentTo(0)))
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:2"))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = false })
		f.expectReconciled(ctx, agent)

		By("a rule that cannot be evaluated, which leaves the former rules in force")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Access.Authorization[0].Expression = "caller.nobody" })
		before := specOf(configMapOf(ctx, agent))
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False InvalidAuthorization")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked", "including the access rules")
		Expect(specOf(configMapOf(ctx, agent))).To(Equal(before))
		f.expectInSync(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Access.Authorization[0].Expression = "" })

		By("correcting the reference, with a pod of the new template")
		runDeployment(ctx, agent, "echo-2", true, f.runningNow())
		expectApplied(ctx, makeSkill(f.namespace, "gone", nil))
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"gone"}))
		Expect(configurationOf(ctx, agent).Card.Description).To(Equal("Another description."))
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)
	})

	It("reports a missing skill of a new Agent and creates nothing", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}} })
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked", "no card was published before")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False SkillNotFound")
		f.expectInSync(ctx, agent)
	})

	It("keeps its access rules when the ConfigMap is deleted while a skill is missing", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Skills = []a2av1alpha1.Skill{{ID: "sing", SkillDetails: makeSkill("", "sing", nil).Spec.SkillDetails}}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny}}
		})
		f.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}} })
		f.expectReconciled(ctx, agent)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"sing"}))
		Expect(cluster.Delete(ctx, configMapOf(ctx, agent))).To(Succeed())
		f.expectReconciled(ctx, agent)
		Expect(configurationOf(ctx, agent).Access.Authorization).NotTo(BeNil())
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"echo"}), "the former card is lost, so the card is minimal")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = nil })
		f.expectReconciled(ctx, agent)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"sing"}))
	})

	It("keeps the published card while a finalizer keeps the deleted ConfigMap and a skill is missing", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Skills = []a2av1alpha1.Skill{{ID: "sing", SkillDetails: makeSkill("", "sing", nil).Spec.SkillDetails}}
		})
		f.expectReady(ctx, agent)
		digest := agent.Status.CardDigest
		expectEdited(ctx, configMapOf(ctx, agent), func(c *corev1.ConfigMap) { c.Finalizers = []string{"example.com/backup"} })
		Expect(cluster.Delete(ctx, configMapOf(ctx, agent))).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			expectEdited(ctx, configMapOf(ctx, agent), func(c *corev1.ConfigMap) { c.Finalizers = nil })
		})
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"list"}), "the ConfigMap is in sync")

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny}}
		})
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(HaveExactElements("list", "apply ConfigMap", "patch Pod", "apply Agent/status"))
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"sing"}))
		Expect(agent.Status.CardDigest).To(Equal(digest))
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False CardKept")
		Expect(configurationOf(ctx, agent).Access.Authorization).NotTo(BeNil(), "the rest of the spec is applied")

		By("removing the data and the managed fields of the ConfigMap")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = nil })
		f.expectReconciled(ctx, agent)
		expectEdited(ctx, configMapOf(ctx, agent), func(c *corev1.ConfigMap) {
			c.Data, c.ManagedFields = nil, []metav1.ManagedFieldsEntry{{}}
		})
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"list", "apply ConfigMap"}))
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"sing"}))
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"list"}), "the ConfigMap is in sync again")
	})

	It("uses a skill of another namespace that allows it", func(ctx context.Context) {
		library := newFixture(ctx).namespace
		shared := makeSkill(library, "shared", nil)
		expectApplied(ctx, shared)
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library, Name: "shared"}, {Namespace: library, Name: "absent"}}
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False SkillNotFound",
			`spec.skillRefs[0]: namespace "`+library+`" has no AgentSkill "shared" that admits Agents of namespace "`+f.namespace+`"`,
			`spec.skillRefs[1]: namespace "`+library+`" has no AgentSkill "absent" that admits Agents of namespace "`+f.namespace+`"`,
			"spec.allowedAgents.namespaces")

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = a.Spec.SkillRefs[:1] })
		expectEdited(ctx, shared, func(s *a2av1alpha1.AgentSkill) { s.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll })
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"shared"}))
		f.expectInSync(ctx, agent)

		expectApplied(ctx, makeSkill(f.namespace, "shared", nil))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = append(a.Spec.SkillRefs, a2av1alpha1.AgentSkillRef{Name: "shared"})
		})
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False DuplicateSkillID",
			`spec.skillRefs[0] (AgentSkill "`+library+`/shared") and spec.skillRefs[1] (AgentSkill "shared")`)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"shared"}), "the card does not change")
	})

	It("reports two skills with one id and keeps the card", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		before := specOf(configMapOf(ctx, agent))
		twin := makeSkill(f.namespace, "twin", nil)
		twin.Spec.ID = "same"
		expectApplied(ctx, twin, makeSkill(f.namespace, "same", nil))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillSelector = &metav1.LabelSelector{} })
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False DuplicateSkillID", `"same"`, `"twin"`)
		Expect(specOf(configMapOf(ctx, agent))).To(Equal(before))
	})

	It("reports a card that is too large and keeps the former card", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		for i := range 60 {
			skill := makeSkill(f.namespace, "big-"+strings.Repeat("x", i+1), nil)
			for range 16 {
				skill.Spec.Examples = append(skill.Spec.Examples, strings.Repeat("y", 1024))
			}
			expectApplied(ctx, skill)
		}
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillSelector = &metav1.LabelSelector{} })
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False CardTooLarge", "256 KiB")
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"echo"}))
	})

	It("reports an invalid selector", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False InvalidSelector", "spec.skillSelector")
	})

	It("selects a bounded number of skills", func(ctx context.Context) {
		for i := range 65 {
			expectApplied(ctx, makeSkill(f.namespace, fmt.Sprintf("skill-%d", i), nil))
		}
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.SkillSelector = &metav1.LabelSelector{} })
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False InvalidSelector",
			"spec.skillSelector is not valid: it selects 65 AgentSkills, the limit is 64; correct it")
	})
})
