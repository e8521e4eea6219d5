// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// YAML must not contain these characters, and JSON may.
const notInYAML = "a\u007f\u0080\u009f\ufeff\ufffe\uffffz"

var _ = Describe("a text with characters that YAML must not contain", func() {
	It("reaches the objects of the Agent unchanged", func(ctx context.Context) {
		agent := makeAgent(createNamespace(ctx, "texts-"), "echo")
		agent.Spec.Description = "Repeats \ufeff\ufffe\uffff."
		template := &agent.Spec.Workload.Template
		template.Annotations = map[string]string{"note": notInYAML}
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TEXT", Value: notInYAML}}
		template.Spec.Containers[0].Args = []string{notInYAML}
		agent.Spec.Skills = []a2av1alpha1.Skill{{ID: "echo", SkillDetails: a2av1alpha1.SkillDetails{
			Name: "Echo", Description: "Repeats.", Tags: []string{"test"},
			InputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object","description":"` + notInYAML + `"}`)},
		}}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).
			Should(Equal(a2av1alpha1.ReasonProgrammed), func() string { return message(agent, a2av1alpha1.ConditionProgrammed)(ctx) })
		deployment := &appsv1.Deployment{}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
		pod := deployment.Spec.Template
		Expect(pod.Annotations).To(HaveKeyWithValue("note", notInYAML))
		Expect(pod.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "TEXT", Value: notInYAML}))
		Expect(pod.Spec.Containers[0].Args).To(Equal([]string{notInYAML}))
	})

	It("is refused in the texts of the card, with the field", func(ctx context.Context) {
		namespace := createNamespace(ctx, "texts-")
		for field, change := range map[string]func(*a2av1alpha1.AgentSpec){
			"spec.displayName": func(s *a2av1alpha1.AgentSpec) { s.DisplayName = "a\x1b[31m" },
			"spec.description": func(s *a2av1alpha1.AgentSpec) { s.Description = "a\u009b31m" },
			"spec.version":     func(s *a2av1alpha1.AgentSpec) { s.Version = "1\n2" },
			"spec.provider.organization": func(s *a2av1alpha1.AgentSpec) {
				s.Provider = &a2av1alpha1.AgentProvider{Organization: "a\x7f", URL: "https://a.example"}
			},
			"spec.skills[0].tags[0]": func(s *a2av1alpha1.AgentSpec) {
				s.Skills = []a2av1alpha1.Skill{{ID: "a", SkillDetails: a2av1alpha1.SkillDetails{Name: "a", Description: "b", Tags: []string{"a\tb"}}}}
			},
		} {
			agent := makeAgent(namespace, "refused")
			change(&agent.Spec)
			err := cluster.Create(ctx, agent, client.DryRunAll)
			Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", field, err)
			Expect(err).To(MatchError(ContainSubstring(field)))
		}
		agent := makeAgent(namespace, "admitted")
		agent.Spec.Description = "Two\r\n\tlines."
		Expect(cluster.Create(ctx, agent, client.DryRunAll)).To(Succeed())
	})
})
