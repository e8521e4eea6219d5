// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = It("serves the namespaces that it is told to, and no others", Serial, func(ctx context.Context) {
	namespaceOf := func(prefix string) string {
		GinkgoHelper()
		created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
		Expect(cluster.Create(ctx, created)).To(Succeed())
		return created.Name
	}
	watched, other := namespaceOf("watched-"), namespaceOf("other-")
	stop()
	stop = startNamespaced(watched)
	defer func() {
		stop()
		stop = start()
	}()

	shared := &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "shared"},
		Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
	}
	shared.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll
	Expect(cluster.Create(ctx, shared)).To(Succeed())
	agentOf := func(namespace, name string, refs ...a2av1alpha1.AgentSkillRef) *a2av1alpha1.Agent {
		GinkgoHelper()
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: a2av1alpha1.AgentSpec{
			Description: "Says it again.", SkillRefs: refs,
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
			}}},
		}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		return agent
	}
	reason := func(agent *a2av1alpha1.Agent, condition string) func(context.Context) string {
		return func(ctx context.Context) string {
			if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
				return err.Error()
			}
			return meta.FindStatusCondition(agent.Status.Conditions, condition).Reason
		}
	}
	// The stranger comes first, so that it would have been looked at first.
	stranger := agentOf(other, "stranger")
	Eventually(reason(agentOf(watched, "echo"), a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).
		Should(Equal(a2av1alpha1.ReasonProgrammed))
	Eventually(reason(agentOf(watched, "asks", a2av1alpha1.AgentSkillRef{Namespace: other, Name: "shared"}), a2av1alpha1.ConditionSkillsResolved)).
		WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound), "what is not watched is as good as not there")
	Expect(reason(stranger, a2av1alpha1.ConditionProgrammed)(ctx)).To(Equal(a2av1alpha1.ReasonPending))
})
