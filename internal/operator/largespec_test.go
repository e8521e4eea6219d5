// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

var _ = Describe("A spec that is too large for the caches", func() {
	It("keeps what the operator has applied, until it is shorter", func(ctx context.Context) {
		agent := restrictedAgent(createNamespace(ctx, "large-"), "large")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(rulesOf(agent)).WithContext(ctx).Should(Equal(1))
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		runPod(ctx, agent, "large-1")
		Eventually(reason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))
		deployment := &appsv1.Deployment{}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
		generation := deployment.Generation

		editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) {
			spec.Access.Authorization = nil
			spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TEXT", Value: strings.Repeat("x", state.MaxAgentSpec)}}
		})
		Eventually(currentReason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecTooLarge))
		Expect(message(agent, a2av1alpha1.ConditionAccepted)(ctx)).To(ContainSubstring("256 KiB"))
		expectOneFriend(ctx, agent)
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
		Expect(deployment.Generation).To(Equal(generation), "the operator does not change the Deployment")
		Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(reason(agent, a2av1alpha1.ConditionAvailable)(ctx)).To(Equal(a2av1alpha1.ReasonAvailable), "the pod runs and serves")

		editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) {
			spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TEXT", Value: "short"}}
		})
		Eventually(currentReason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		Eventually(func(ctx context.Context) []corev1.EnvVar {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
			return deployment.Spec.Template.Spec.Containers[0].Env
		}).WithContext(ctx).Should(ContainElement(corev1.EnvVar{Name: "TEXT", Value: "short"}))
	})

	It("keeps the card of the Agents of a skill, until the skill is shorter", func(ctx context.Context) {
		namespace := createNamespace(ctx, "largeskill-")
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sing"}, Spec: a2av1alpha1.AgentSkillSpec{
			SkillDetails: a2av1alpha1.SkillDetails{Name: "Sing", Description: "Sings.", Tags: []string{"test"}},
		}}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		agent := createAgent(ctx, namespace, "singer", a2av1alpha1.AgentSkillRef{Name: "sing"})
		Eventually(cardDescription(agent)).WithContext(ctx).Should(Equal("Sings."))

		editSkill(ctx, skill, func(spec *a2av1alpha1.AgentSkillSpec) {
			spec.Description = "Sings loudly."
			spec.InputSchema = &runtime.RawExtension{Raw: []byte(`{"description":"` + strings.Repeat("x", state.MaxAgentSkillSpec) + `"}`)}
		})
		Eventually(acceptedSkill(skill)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecTooLarge))
		Eventually(currentReason(agent, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecTooLarge))
		Expect(message(agent, a2av1alpha1.ConditionSkillsResolved)(ctx)).To(ContainSubstring("160 KiB"))
		Expect(cardDescription(agent)(ctx)).To(Equal("Sings."))

		editSkill(ctx, skill, func(spec *a2av1alpha1.AgentSkillSpec) { spec.InputSchema = nil })
		Eventually(acceptedSkill(skill)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		Eventually(cardDescription(agent)).WithContext(ctx).Should(Equal("Sings loudly."))
	})
})

// editSkill updates the spec of an AgentSkill.
func editSkill(ctx context.Context, skill *a2av1alpha1.AgentSkill, change func(*a2av1alpha1.AgentSkillSpec)) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) error {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill); err != nil {
			return err
		}
		change(&skill.Spec)
		return cluster.Update(ctx, skill)
	}).WithContext(ctx).Should(Succeed())
}

// cardDescription returns a function that returns the description of the first skill on an Agent's card.
func cardDescription(agent *a2av1alpha1.Agent) func(context.Context) string {
	return func(ctx context.Context) string {
		config, err := configured(ctx, agent)
		if err != nil || len(config.Card.Skills) == 0 {
			return ""
		}
		return config.Card.Skills[0].Description
	}
}
