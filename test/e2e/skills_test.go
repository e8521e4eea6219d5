//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("An agent with files of a skill", func() {
	It("reads them in its container, and reads their edits without a restart", func(ctx SpecContext) {
		library, ns := namespace(ctx), namespace(ctx)
		files := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: library, Name: "triage"}, Data: map[string]string{"runbook.md": "runbook one"}}
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: library, Name: "triage"}, Spec: skillSpec("Triage", "Sorts incidents.")}
		skill.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll
		skill.Spec.Instructions = "Read references/runbook.md."
		skill.Spec.Resources = []a2av1alpha1.SkillResource{{ConfigMap: a2av1alpha1.SkillConfigMap{
			Name: "triage", Items: []a2av1alpha1.SkillFile{{Key: "runbook.md", Path: "references/runbook.md"}},
		}}}
		Expect(cluster.Create(ctx, files)).To(Succeed())
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		agent := create(ctx, newAgent(ns, "oncall", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "triage", Namespace: library}}
		}))
		expectReady(ctx, agent)
		content := func(path string) func() (task, error) {
			return func() (task, error) { return sendText(ctx, agent, "file "+path) }
		}
		Expect(content("/a2a/skills/triage/SKILL.md")()).To(HaveField("Text", And(HavePrefix("---\nname: \"triage\""), ContainSubstring("Read references/runbook.md."))))
		Expect(content("/a2a/skills/triage/references/runbook.md")()).To(HaveField("Text", "runbook one"))
		before := pods(ctx, agent)

		By("editing a file and adding another one")
		files.Data = map[string]string{"runbook.md": "runbook two", "more.md": "more"}
		Expect(cluster.Update(ctx, files)).To(Succeed())
		base := client.MergeFrom(skill.DeepCopy())
		skill.Spec.Resources[0].ConfigMap.Items = append(skill.Spec.Resources[0].ConfigMap.Items, a2av1alpha1.SkillFile{Key: "more.md"})
		Expect(cluster.Patch(ctx, skill, base)).To(Succeed())
		Eventually(ctx, content("/a2a/skills/triage/more.md")).WithTimeout(2 * time.Minute).Should(HaveField("Text", "more"))
		Eventually(ctx, content("/a2a/skills/triage/references/runbook.md")).WithTimeout(2 * time.Minute).Should(HaveField("Text", "runbook two"))
		after := pods(ctx, agent)
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).To(Equal(before[0].UID), "the pod is the same")
		Expect(restarts(&after[0], "agent")).To(BeZero())
	})
})
