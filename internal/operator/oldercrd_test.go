// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// crd reads a CRD.
func crd(ctx context.Context, name string) *unstructured.Unstructured {
	GinkgoHelper()
	installed := &unstructured.Unstructured{}
	installed.SetAPIVersion("apiextensions.k8s.io/v1")
	installed.SetKind("CustomResourceDefinition")
	Expect(cluster.Get(ctx, client.ObjectKey{Name: name}, installed)).To(Succeed())
	return installed
}

// changeCRD changes the schema of a CRD. It returns a function that installs the CRD of this tree again.
func changeCRD(ctx context.Context, name string, change func(schema map[string]any)) (restore func(context.Context)) {
	GinkgoHelper()
	before := crd(ctx, name)
	changed := before.DeepCopy()
	versions, _, err := unstructured.NestedSlice(changed.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	change(versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any))
	Expect(unstructured.SetNestedSlice(changed.Object, versions, "spec", "versions")).To(Succeed())
	Expect(cluster.Update(ctx, changed)).To(Succeed())
	return func(ctx context.Context) {
		GinkgoHelper()
		newer := crd(ctx, name)
		newer.Object["spec"] = before.Object["spec"]
		Expect(cluster.Update(ctx, newer)).To(Succeed())
	}
}

// installOlder removes a field from a CRD, as the CRD of an older release lacks it. path is a path such as
// spec.access.authorization.
func installOlder(ctx context.Context, name, path string) (restore func(context.Context)) {
	GinkgoHelper()
	return changeCRD(ctx, name, func(at map[string]any) {
		segments := strings.Split(path, ".")
		field := segments[len(segments)-1]
		for _, segment := range segments[:len(segments)-1] {
			withoutRules(at, field)
			at = at["properties"].(map[string]any)[segment].(map[string]any)
		}
		withoutRules(at, field)
		delete(at["properties"].(map[string]any), field)
	})
}

// withoutRules removes the CEL rules of a schema that name a field: they would not compile without it.
func withoutRules(schema map[string]any, field string) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	var kept []any
	for _, rule := range rules {
		if !strings.Contains(fmt.Sprint(rule.(map[string]any)["rule"]), field) {
			kept = append(kept, rule)
		}
	}
	delete(schema, "x-kubernetes-validations")
	if kept != nil {
		schema["x-kubernetes-validations"] = kept
	}
}

// configured returns the sidecar configuration of an Agent.
func configured(ctx context.Context, agent *a2av1alpha1.Agent) (*sidecarconfig.Config, error) {
	configMap := &corev1.ConfigMap{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name)}, configMap); err != nil {
		return nil, err
	}
	return sidecarconfig.Decode([]byte(configMap.Data[sidecarconfig.FileName]))
}

// rulesOf returns a function that returns the number of authorization rules in an Agent's sidecar configuration.
func rulesOf(agent *a2av1alpha1.Agent) func(context.Context) int {
	return func(ctx context.Context) int {
		config, err := configured(ctx, agent)
		if err != nil || config.Access.Authorization == nil {
			return -1
		}
		return len(config.Access.Authorization.Rules)
	}
}

// expectOneFriend expects that an Agent's sidecar configuration has the rule of restrictedAgent only.
func expectOneFriend(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	config, err := configured(ctx, agent)
	Expect(err).NotTo(HaveOccurred())
	Expect(config.Access.Authorization.Rules).To(HaveLen(1))
	Expect(config.Access.Authorization.Rules[0].Namespaces).To(Equal([]string{"friends"}))
}

// prunedEvents returns a function that returns the notes of the events with the reason SpecPruned about an object.
func prunedEvents(object client.Object) func(context.Context) []string {
	return func(ctx context.Context) []string {
		list := &eventsv1.EventList{}
		if err := cluster.List(ctx, list, client.InNamespace(object.GetNamespace())); err != nil {
			return nil
		}
		var notes []string
		for _, e := range list.Items {
			if e.Reason == a2av1alpha1.ReasonSpecPruned && e.Regarding.Name == object.GetName() {
				notes = append(notes, e.Note)
			}
		}
		return notes
	}
}

func restrictedAgent(namespace, name string) *a2av1alpha1.Agent {
	agent := makeAgent(namespace, name)
	agent.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Name: "one", Action: a2av1alpha1.AuthorizationAllow, Namespaces: []string{"friends"}}}
	return agent
}

var _ = Describe("An older CRD", Serial, func() {
	It("loses no rule of an Agent that nobody writes, and says so", func(ctx context.Context) {
		namespace := createNamespace(ctx, "unwritten-")
		agent := restrictedAgent(namespace, "restricted")
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(rulesOf(agent)).WithContext(ctx).Should(Equal(1))
		Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		restore := installOlder(ctx, crdschema.Agents, "spec.access.authorization")
		DeferCleanup(restore)
		Eventually(prunedEvents(agent)).WithContext(ctx).Should(ContainElement(ContainSubstring("spec.access.authorization")))
		Expect(rulesOf(agent)(ctx)).To(Equal(1))
		restore(ctx)
		Eventually(func(ctx context.Context) int64 {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
			return agent.Status.ObservedSchemaGeneration
		}).WithContext(ctx).Should(Equal(crd(ctx, crdschema.Agents).GetGeneration()))
		Expect(agent.Spec.Access.Authorization).To(HaveLen(1), "the operator did not write the Agent while its CRD was older")
		Eventually(reason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		Expect(rulesOf(agent)(ctx)).To(Equal(1))
	})

	It("opens no Agent that others write meanwhile and afterwards", func(ctx context.Context) {
		namespace := createNamespace(ctx, "written-")
		labeled, edited := restrictedAgent(namespace, "labeled"), restrictedAgent(namespace, "edited")
		for _, agent := range []*a2av1alpha1.Agent{labeled, edited} {
			Expect(cluster.Create(ctx, agent)).To(Succeed())
			Eventually(rulesOf(agent)).WithContext(ctx).Should(Equal(1))
			Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		}
		generation := labeled.Generation
		restore := installOlder(ctx, crdschema.Agents, "spec.access.authorization")
		DeferCleanup(restore)
		Eventually(prunedEvents(edited)).WithContext(ctx).ShouldNot(BeEmpty())
		By("writing the metadata of one, and another field of the spec of the other, as an autoscaler does")
		Eventually(func(ctx context.Context) []a2av1alpha1.AuthorizationRule {
			mergePatch(ctx, labeled, fmt.Sprintf(`{"metadata":{"labels":{"touched":"%d"}}}`, GinkgoRandomSeed()))
			mergePatch(ctx, edited, `{"spec":{"description":"`+fmt.Sprint(metav1.Now().UnixNano())+`"}}`)
			return append(labeled.Spec.Access.Authorization, edited.Spec.Access.Authorization...)
		}).WithContext(ctx).Should(BeEmpty(), "the API server drops the rules")
		restore(ctx)
		for _, agent := range []*a2av1alpha1.Agent{labeled, edited} {
			Eventually(reason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecPruned))
			Expect(message(agent, a2av1alpha1.ConditionAccepted)(ctx)).To(ContainSubstring("spec.access.authorization"))
			Expect(rulesOf(agent)(ctx)).To(Equal(1))
		}
		Expect(labeled.Generation).To(Equal(generation), "the API server does not count the loss as an edit")

		By("scaling both afterwards")
		for _, agent := range []*a2av1alpha1.Agent{labeled, edited} {
			editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) { spec.Workload.Replicas = new(int32(0)) })
			Eventually(currentReason(agent, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecPruned))
			Expect(rulesOf(agent)(ctx)).To(Equal(1))
		}

		By("applying the rules again, and accepting the loss")
		editAgent(ctx, labeled, func(spec *a2av1alpha1.AgentSpec) {
			rule := a2av1alpha1.AuthorizationRule{Action: a2av1alpha1.AuthorizationDeny}
			spec.Access.Authorization = append(restrictedAgent("", "").Spec.Access.Authorization, rule)
		})
		Eventually(rulesOf(labeled)).WithContext(ctx).Should(Equal(2))
		Eventually(reason(labeled, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		mergePatch(ctx, edited, `{"metadata":{"annotations":{"`+a2av1alpha1.AnnotationAcceptSpec+`":"`+strconv.FormatInt(edited.Generation, 10)+`"}}}`)
		Eventually(reason(edited, a2av1alpha1.ConditionAccepted)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		Eventually(rulesOf(edited)).WithContext(ctx).Should(Equal(-1))
	})

	It("does not open an AgentSkill", func(ctx context.Context) {
		owner, other := createNamespace(ctx, "owner-"), createNamespace(ctx, "other-")
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: owner, Name: "sing"}, Spec: a2av1alpha1.AgentSkillSpec{
			SkillDetails: a2av1alpha1.SkillDetails{Name: "Sing", Description: "Sings.", Tags: []string{"test"}},
			AllowedAgents: a2av1alpha1.AllowedAgents{Namespaces: a2av1alpha1.AllowedNamespaces{
				From: a2av1alpha1.FromSelector, Selector: &a2av1alpha1.NamespaceSelector{MatchLabels: map[string]a2av1alpha1.LabelValue{"choir": "admitted"}},
			}},
		}}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		stranger := createAgent(ctx, other, "stranger", a2av1alpha1.AgentSkillRef{Namespace: owner, Name: "sing"})
		Eventually(reason(stranger, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))
		accepted := func(ctx context.Context) string {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
			if c := meta.FindStatusCondition(skill.Status.Conditions, a2av1alpha1.ConditionAccepted); c != nil {
				return c.Reason
			}
			return ""
		}
		Eventually(accepted).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAccepted))
		restore := installOlder(ctx, crdschema.AgentSkills, "spec.allowedAgents.namespaces.selector.matchLabels")
		DeferCleanup(restore)
		Eventually(func(ctx context.Context) map[string]a2av1alpha1.LabelValue {
			mergePatch(ctx, skill, `{"metadata":{"labels":{"touched":"`+fmt.Sprint(metav1.Now().UnixNano())+`"}}}`)
			return skill.Spec.AllowedAgents.Namespaces.Selector.MatchLabels
		}).WithContext(ctx).Should(BeEmpty(), "the API server drops the labels: the selector is empty and matches every namespace")
		restore(ctx)
		Eventually(accepted).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSpecPruned))
		editAgent(ctx, stranger, func(spec *a2av1alpha1.AgentSpec) { spec.Description = "Asks again." })
		Eventually(currentReason(stranger, a2av1alpha1.ConditionSkillsResolved)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound))
	})
})
