// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// skillFilesOf returns the files of an Agent's skills.
func skillFilesOf(ctx context.Context, agent *a2av1alpha1.Agent) skillfolder.Files {
	GinkgoHelper()
	configMap := read[corev1.ConfigMap](ctx, agent, names.SkillFiles(agent.Name))
	values := maps.Clone(configMap.BinaryData)
	if values == nil {
		values = map[string][]byte{}
	}
	for key, value := range configMap.Data {
		values[key] = []byte(value)
	}
	files, _, err := skillfolder.Decode(values)
	Expect(err).NotTo(HaveOccurred())
	return files
}

var _ = Describe("an Agent with files of skills", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	// resources returns a ConfigMap, and a skill with instructions and all files of it.
	resources := func() (*corev1.ConfigMap, *a2av1alpha1.AgentSkill) {
		files := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "files"},
			Data:       map[string]string{"a.md": "one"}, BinaryData: map[string][]byte{"b.bin": {0xff}},
		}
		skill := makeSkill(f.namespace, "triage", nil)
		skill.Spec.Instructions = "Look first."
		skill.Spec.Resources = []a2av1alpha1.SkillResource{{ConfigMap: a2av1alpha1.SkillConfigMap{Name: "files"}}}
		return files, skill
	}
	usesTriage := func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "triage"}} }

	It("renders them, and publishes edits without a restart", func(ctx context.Context) {
		files, skill := resources()
		expectApplied(ctx, files, skill)
		agent := makeAgent(f.namespace, "echo", usesTriage)
		f.expectReady(ctx, agent)
		Expect(skillFilesOf(ctx, agent)).To(HaveKeyWithValue("triage/a.md", []byte("one")))
		Expect(skillFilesOf(ctx, agent)).To(HaveKeyWithValue("triage/b.bin", []byte{0xff}))
		Expect(string(skillFilesOf(ctx, agent)["triage/SKILL.md"])).To(And(HavePrefix("---\nname: "), HaveSuffix("Look first.\n")))
		f.expectInSync(ctx, agent)

		By("editing a resource")
		deployment, digest := deploymentOf(ctx, agent), configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]
		expectEdited(ctx, files, func(c *corev1.ConfigMap) { c.Data["a.md"] = "two"; c.Data["c.md"] = "three" })
		f.expectReconciled(ctx, agent)
		Expect(skillFilesOf(ctx, agent)).To(And(HaveKeyWithValue("triage/a.md", []byte("two")), HaveKeyWithValue("triage/c.md", []byte("three"))))
		Expect(deploymentOf(ctx, agent).ResourceVersion).To(Equal(deployment.ResourceVersion), "the Deployment does not change")
		Expect(configMapOf(ctx, agent).Annotations[a2av1alpha1.AnnotationConfigDigest]).NotTo(Equal(digest), "the pods refresh their volumes")
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)

		By("another program that edits the rendered files")
		rendered := read[corev1.ConfigMap](ctx, agent, names.SkillFiles(agent.Name))
		expectEdited(ctx, rendered, func(c *corev1.ConfigMap) {
			for key := range c.Data {
				c.Data[key] = "changed"
			}
		})
		f.expectReconciled(ctx, agent)
		Expect(skillFilesOf(ctx, agent)).To(HaveKeyWithValue("triage/a.md", []byte("two")))
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)

		By("deleting the ConfigMap, which keeps the files")
		Expect(cluster.Delete(ctx, files)).To(Succeed())
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "False SkillResourceNotFound", `spec.skillRefs[0] (AgentSkill "triage"): resources[0].configMap.name: ConfigMap "files" does not exist`)
		expectCondition(agent, a2av1alpha1.ConditionReady, "False SkillResourceNotFound")
		Expect(skillFilesOf(ctx, agent)).To(HaveKeyWithValue("triage/a.md", []byte("two")))
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(deployment.Spec.Template))
		f.expectInSync(ctx, agent)

		By("a skill without files")
		expectEdited(ctx, skill, func(s *a2av1alpha1.AgentSkill) { s.Spec.Resources = nil; s.Spec.Instructions = "" })
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionSkillsResolved, "True Resolved")
		Expect(skillFilesOf(ctx, agent)).To(BeEmpty())
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(deployment.Spec.Template))
	})

	It("copies those of another namespace only if the skill admits the Agent", func(ctx context.Context) {
		files, skill := resources()
		other := newFixture(ctx)
		borrows := func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "triage", Namespace: f.namespace}}
		}
		denied := makeAgent(other.namespace, "denied", borrows)
		expectApplied(ctx, files, skill, denied)
		other.expectReconciled(ctx, denied)
		expectCondition(denied, a2av1alpha1.ConditionSkillsResolved, "False SkillNotFound")
		expectEdited(ctx, skill, func(s *a2av1alpha1.AgentSkill) { s.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll })
		agent := makeAgent(other.namespace, "echo", borrows)
		other.expectReady(ctx, agent)
		Expect(skillFilesOf(ctx, agent)).To(HaveKeyWithValue("triage/a.md", []byte("one")))
	})

	It("mounts the image of a skill, after it has asked the API server for image volumes", func(ctx context.Context) {
		skill := makeSkill(f.namespace, "triage", nil)
		skill.Spec.Image = "registry.example/triage@sha256:0000000000000000000000000000000000000000000000000000000000000000"
		expectApplied(ctx, skill)
		agent := makeAgent(f.namespace, "echo", usesTriage)
		f.expectReady(ctx, agent)
		pod := deploymentOf(ctx, agent).Spec.Template.Spec
		Expect(pod.Volumes).To(ContainElement(HaveField("VolumeSource.Image", HaveField("Reference", skill.Spec.Image))))
		Expect(pod.Containers[0].VolumeMounts).To(ContainElement(And(HaveField("MountPath", "/a2a/skills/triage"), HaveField("ReadOnly", true))))
		list := &corev1.ConfigMapList{}
		Expect(cluster.List(ctx, list, client.InNamespace(f.namespace))).To(Succeed())
		Expect(list.Items).NotTo(ContainElement(HaveField("Name", names.SkillFiles("echo"))), "no ConfigMap for files without instructions")
		f.expectInSync(ctx, agent)
	})
})
