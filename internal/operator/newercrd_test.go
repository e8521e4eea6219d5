// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// at returns the schema of the field at a path such as spec.access.authorization[].action.
func at(schema map[string]any, path string) map[string]any {
	for segment := range strings.SplitSeq(path, ".") {
		name, isList := strings.CutSuffix(segment, "[]")
		schema = schema["properties"].(map[string]any)[name].(map[string]any)
		if isList {
			schema = schema["items"].(map[string]any)
		}
	}
	return schema
}

// newFields adds fields of type string to a schema, by the paths of their parents. Each field has the name "until".
// fallback is the default, "" for none.
func newFields(schema map[string]any, fallback string, parents ...string) {
	for _, parent := range parents {
		field := map[string]any{"type": "string"}
		if fallback != "" {
			field["default"] = fallback
		}
		at(schema, parent)["properties"].(map[string]any)["until"] = field
	}
}

const (
	rulesWithNewField = `{"spec":{"access":{"authorization":[{"name":"one","action":"Allow","namespaces":["friends","others"],"until":"noon"}]}}}`
	rulesWithNewValue = `{"spec":{"access":{"authorization":[{"name":"one","action":"Allow","namespaces":["friends","others"]},{"action":"Audit"}]}}}`
	knownRules        = `{"spec":{"access":{"authorization":[{"name":"one","action":"Allow","namespaces":["friends"]},{"action":"Deny"}]}}}`
)

// acceptedSkill returns a function that returns the reason of the condition Accepted of an AgentSkill.
func acceptedSkill(skill *a2av1alpha1.AgentSkill) func(context.Context) string {
	return func(ctx context.Context) string {
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
		if c := meta.FindStatusCondition(skill.Status.Conditions, a2av1alpha1.ConditionAccepted); c != nil && c.ObservedGeneration == skill.Generation {
			return c.Reason
		}
		return ""
	}
}

// expectNothing expects that the operator has created no ConfigMap for an Agent.
func expectNothing(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	err := cluster.Get(ctx, client.ObjectKey{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name)}, &corev1.ConfigMap{})
	Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

var _ = Describe("A newer CRD", Serial, func() {
	It("opens no Agent by a field that the operator does not know", func(ctx context.Context) {
		namespace := createNamespace(ctx, "newer-")
		served, other := restrictedAgent(namespace, "served"), restrictedAgent(namespace, "other")
		for _, agent := range []*a2av1alpha1.Agent{served, other} {
			Expect(cluster.Create(ctx, agent)).To(Succeed())
			Eventually(rulesOf(agent)).WithContext(ctx).Should(Equal(1))
		}
		restore := changeCRD(ctx, crdschema.Agents, func(schema map[string]any) {
			newFields(schema, "", "spec.access.authorization[]")
			newFields(schema, "always", "spec.networkPolicy")
		})
		DeferCleanup(restore)
		generation := crd(ctx, crdschema.Agents).GetGeneration()
		Eventually(func(ctx context.Context) int64 {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(served), served)).To(Succeed())
			return served.Status.ObservedSchemaGeneration
		}).WithContext(ctx).Should(Equal(generation))

		By("setting the field at an Agent that is served, and at a new one")
		mergePatch(ctx, served, rulesWithNewField)
		Eventually(currentReason(served, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecNotUnderstood))
		Expect(message(served, a2av1alpha1.ConditionAccepted)(ctx)).To(ContainSubstring("spec.access.authorization[].until"))
		created := makeAgent(namespace, "created")
		document := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": a2av1alpha1.GroupVersion.String(), "kind": a2av1alpha1.AgentKind,
			"metadata": map[string]any{"namespace": namespace, "name": created.Name},
			"spec": map[string]any{
				"description":   "New.",
				"networkPolicy": map[string]any{"until": "noon"},
				"workload": map[string]any{"template": map[string]any{"spec": map[string]any{
					"containers": []any{map[string]any{"name": "agent", "image": "example/echo:1"}},
				}}},
			},
		}}
		Expect(cluster.Create(ctx, document)).To(Succeed())
		Eventually(reason(created, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecNotUnderstood))
		Expect(message(created, a2av1alpha1.ConditionAccepted)(ctx)).To(ContainSubstring("spec.networkPolicy.until"))
		expectNothing(ctx, created)
		expectOneFriend(ctx, served)
		Expect(reason(other, a2av1alpha1.ConditionAccepted)(ctx)).To(Equal(a2av1alpha1.ReasonAccepted), "a default of the newer CRD changes nothing")

		By("removing the field")
		mergePatch(ctx, served, knownRules)
		Eventually(rulesOf(served)).WithContext(ctx).Should(Equal(2))
		Eventually(currentReason(served, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))

		By("setting it again, and installing the former CRD, which drops it")
		mergePatch(ctx, served, rulesWithNewField)
		Eventually(currentReason(served, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecNotUnderstood))
		restore(ctx)
		for _, agent := range []*a2av1alpha1.Agent{served, created} {
			Eventually(reason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecPruned))
		}
		Expect(rulesOf(served)(ctx)).To(Equal(2))
		expectNothing(ctx, created)
		Eventually(reason(other, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
	})

	It("opens no Agent by a value that the operator does not know, also after the former CRD is back", func(ctx context.Context) {
		agent := restrictedAgent(createNamespace(ctx, "values-"), "audited")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(rulesOf(agent)).WithContext(ctx).Should(Equal(1))
		restore := changeCRD(ctx, crdschema.Agents, func(schema map[string]any) {
			action := at(schema, "spec.access.authorization[].action")
			action["enum"] = append(action["enum"].([]any), "Audit")
		})
		DeferCleanup(restore)
		Eventually(func(ctx context.Context) error {
			return cluster.Patch(ctx, agent, client.RawPatch(types.MergePatchType, []byte(rulesWithNewValue)))
		}).WithContext(ctx).Should(Succeed())
		expectKept := func() {
			GinkgoHelper()
			Eventually(currentReason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecNotUnderstood))
			Expect(message(agent, a2av1alpha1.ConditionAccepted)(ctx)).To(ContainSubstring(`spec.access.authorization[].action "Audit"`))
			expectOneFriend(ctx, agent)
		}
		expectKept()
		restore(ctx)
		mergePatch(ctx, agent, `{"spec":{"description":"Edited while a value is unknown."}}`)
		expectKept()
		mergePatch(ctx, agent, knownRules)
		Eventually(rulesOf(agent)).WithContext(ctx).Should(Equal(2))
	})

	It("does not open an AgentSkill", func(ctx context.Context) {
		owner, other := createNamespace(ctx, "owner-"), createNamespace(ctx, "other-")
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: owner, Name: "sing"}, Spec: a2av1alpha1.AgentSkillSpec{
			SkillDetails: a2av1alpha1.SkillDetails{Name: "Sing", Description: "Sings.", Tags: []string{"test"}},
		}}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		Eventually(acceptedSkill(skill)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		restore := changeCRD(ctx, crdschema.AgentSkills, func(schema map[string]any) { newFields(schema, "", "spec.allowedAgents.namespaces") })
		DeferCleanup(restore)
		Eventually(func(ctx context.Context) int64 {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
			return skill.Status.ObservedSchemaGeneration
		}).WithContext(ctx).Should(Equal(crd(ctx, crdschema.AgentSkills).GetGeneration()))
		mergePatch(ctx, skill, `{"spec":{"allowedAgents":{"namespaces":{"from":"All","until":"noon"}}}}`)
		stranger := createAgent(ctx, other, "stranger", a2av1alpha1.AgentSkillRef{Namespace: owner, Name: "sing"})
		neighbor := createAgent(ctx, owner, "neighbor", a2av1alpha1.AgentSkillRef{Name: "sing"})
		Eventually(acceptedSkill(skill)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecNotUnderstood))
		Eventually(reason(stranger, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))
		Eventually(reason(neighbor, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecNotUnderstood))
	})

	It("shows its fields to every user in the OpenAPI document", func(ctx context.Context) {
		user, err := environment.AddUser(envtest.User{Name: "openapi-reader"}, nil)
		Expect(err).NotTo(HaveOccurred())
		reader, err := kubernetes.NewForConfig(user.Config())
		Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{crdschema.Agents, crdschema.AgentSkills} {
			Eventually(func(ctx context.Context) ([]string, error) {
				text, err := reader.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis", a2av1alpha1.GroupVersion.String()).DoRaw(ctx)
				if err != nil {
					return nil, err
				}
				var document map[string]any
				if err := json.Unmarshal(text, &document); err != nil {
					return nil, err
				}
				fields, err := crdschema.FieldsOfOpenAPI(document, name)
				return append(crdschema.Outdated(crdschema.Own(name), fields), crdschema.Outdated(fields, crdschema.Own(name))...), err
			}).WithContext(ctx).Should(BeEmpty())
		}
	})
})
