// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("an Agent with skills", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	It("puts them on the card in their order, and follows their edits without touching the pod", func(ctx context.Context) {
		bravo := makeSkill(b.namespace, "bravo", map[string]string{"team": "search"})
		expectApplied(ctx, makeSkill(b.namespace, "zulu", nil), bravo, makeSkill(b.namespace, "alpha", map[string]string{"team": "search"}))
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "zulu"}}
			a.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
		})
		pod := b.expectReady(ctx, agent)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"zulu", "alpha", "bravo"}))
		Expect(agent.Status.Skills).To(HaveValue(BeEquivalentTo(3)))
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")

		deployment, digest := deploymentOf(ctx, agent), agent.Status.CardDigest
		expectEdited(ctx, bravo, func(s *a2av1alpha1.AgentSkill) { s.Spec.Description = "Does it better." })
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply ConfigMap", "patch Pod", "apply Agent/status"}))
		Expect(deploymentOf(ctx, agent).ResourceVersion).To(Equal(deployment.ResourceVersion), "the Deployment is not touched")
		Expect(agent.Status.CardDigest).NotTo(Equal(digest))
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(b.happened()).To(Equal([]string{"Normal CardChanged The card is now " + agent.Status.CardDigest + " and lists 3 skills"}))

		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations[a2av1alpha1.AnnotationConfigDigest]).To(Equal(
			configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]))
		b.expectConverged(ctx, agent)
	})

	It("names a missing one, leaves the card alone and applies the rest", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		pod := b.expectReady(ctx, agent)
		card, digest := contractOf(ctx, agent).Card, agent.Status.CardDigest

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Description = "Somebody else."
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{"left"}}}
		})
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply ConfigMap", "patch Pod", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False SkillNotFound", `spec.skillRefs[0].name: there is no AgentSkill "gone"`, "the rest of the spec is applied")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True CardKept")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionCardPublished, "False CardKept")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False SkillNotFound", `"gone"`)
		Expect(contractOf(ctx, agent).Card).To(Equal(card))
		Expect(contractOf(ctx, agent).Access.Authorization.Rules).To(HaveLen(1))
		Expect(agent.Status.CardDigest).To(Equal(digest))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations[a2av1alpha1.AnnotationConfigDigest]).To(Equal(
			configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]), "the pods read the rules at once")
		Expect(b.happened()).To(ConsistOf(HavePrefix("Warning SkillNotFound")))
		b.expectConverged(ctx, agent)

		By("a pod template that is edited, and an Agent that is suspended meanwhile")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
			a.Spec.Suspend = true
		})
		b.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(BeEquivalentTo(0)))
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image).To(Equal("example/echo:2"))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = false })
		b.expectReconciled(ctx, agent)

		By("a rule that cannot be evaluated, which leaves the former in force")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Access.Authorization[0].Expression = "caller.nobody" })
		before := specOf(configMapOf(ctx, agent))
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False InvalidAuthorization")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked", "the access rules included")
		Expect(specOf(configMapOf(ctx, agent))).To(Equal(before))
		b.expectConverged(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Access.Authorization[0].Expression = "" })

		expectApplied(ctx, makeSkill(b.namespace, "gone", nil))
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"gone"}))
		Expect(contractOf(ctx, agent).Card.Description).To(Equal("Somebody else."))
		b.expectReconciled(ctx, agent)
		b.expectConverged(ctx, agent)
	})

	It("names a missing one of an Agent that is new, and makes nothing", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}} })
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False Blocked", "no card was published before")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False SkillNotFound")
		b.expectConverged(ctx, agent)
	})

	It("keeps restricting when the contract is lost while one is missing", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Skills = []a2av1alpha1.Skill{{ID: "sing", SkillDetails: makeSkill("", "sing", nil).Spec.SkillDetails}}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny}}
		})
		b.expectReady(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "gone"}} })
		b.expectReconciled(ctx, agent)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"sing"}))
		Expect(cluster.Delete(ctx, configMapOf(ctx, agent))).To(Succeed())
		b.expectReconciled(ctx, agent)
		Expect(contractOf(ctx, agent).Access.Authorization).NotTo(BeNil())
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"echo"}), "the card is lost, and says as little as possible")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = nil })
		b.expectReconciled(ctx, agent)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"sing"}))
	})

	It("takes one of another namespace while it is admitted", func(ctx context.Context) {
		library := newBench(ctx).namespace
		shared := makeSkill(library, "shared", nil)
		expectApplied(ctx, shared)
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library, Name: "shared"}, {Namespace: library, Name: "absent"}}
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False SkillNotFound",
			`spec.skillRefs[0]: namespace "`+library+`" has no AgentSkill "shared" that admits Agents of namespace "`+b.namespace+`"`,
			`spec.skillRefs[1]: namespace "`+library+`" has no AgentSkill "absent" that admits Agents of namespace "`+b.namespace+`"`,
			"spec.allowedAgents.namespaces")

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = a.Spec.SkillRefs[:1] })
		expectEdited(ctx, shared, func(s *a2av1alpha1.AgentSkill) { s.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll })
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"shared"}))
		b.expectConverged(ctx, agent)

		expectApplied(ctx, makeSkill(b.namespace, "shared", nil))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = append(a.Spec.SkillRefs, a2av1alpha1.AgentSkillRef{Name: "shared"})
		})
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False DuplicateSkillID",
			`spec.skillRefs[0] (AgentSkill "`+library+`/shared") and spec.skillRefs[1] (AgentSkill "shared")`)
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"shared"}), "the card stays as it was")
	})

	It("refuses two with one id, and leaves the card alone", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		before := specOf(configMapOf(ctx, agent))
		twin := makeSkill(b.namespace, "twin", nil)
		twin.Spec.ID = "same"
		expectApplied(ctx, twin, makeSkill(b.namespace, "same", nil))
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillSelector = &metav1.LabelSelector{} })
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False DuplicateSkillID", `"same"`, `"twin"`)
		Expect(specOf(configMapOf(ctx, agent))).To(Equal(before))
	})

	It("refuses a card that does not fit, and leaves the card alone", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		for i := range 60 {
			skill := makeSkill(b.namespace, "big-"+strings.Repeat("x", i+1), nil)
			for range 16 {
				skill.Spec.Examples = append(skill.Spec.Examples, strings.Repeat("y", 1024))
			}
			expectApplied(ctx, skill)
		}
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillSelector = &metav1.LabelSelector{} })
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False CardTooLarge", "900 KiB")
		Expect(skillIDs(ctx, agent)).To(Equal([]string{"echo"}))
	})

	It("says that a selector cannot be evaluated", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False InvalidSelector", "spec.skillSelector")
	})
})
