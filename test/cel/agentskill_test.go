// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// skill returns a minimal AgentSkill with additional fields of its spec.
func skill(name, fields string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := object(`
apiVersion: a2a-operator.dev/v1alpha1
kind: AgentSkill
metadata: {namespace: default}
spec: {name: Summarize, description: Shortens a text., tags: [text]}
`)
	obj.SetName(name)
	var added map[string]any
	Expect(yaml.Unmarshal([]byte(fields), &added)).To(Succeed())
	for key, value := range added {
		Expect(unstructured.SetNestedField(obj.Object, value, "spec", key)).To(Succeed())
	}
	return obj
}

var _ = DescribeTable("an AgentSkill is accepted",
	func(ctx context.Context, name, fields string) {
		Expect(create(ctx, skill(name, fields))).To(Succeed())
	},
	Entry("without an id", "summarize", "{}"),
	Entry("with an id, examples and modes", "summarize", "{id: text/summarize, examples: [a, a], inputModes: [text/plain], outputModes: ['application/json']}"),
	Entry("with schemas", "summarize", "{inputSchema: {type: object, properties: {text: {type: string}}}, outputSchema: {}}"),
	Entry("for all namespaces", "summarize", "{allowedAgents: {namespaces: {from: All}}}"),
	Entry("for namespaces with a label", "summarize", "{allowedAgents: {namespaces: {from: Selector, selector: {matchLabels: {tier: gold}}}}}"),
	Entry("for namespaces by expressions", "summarize", selecting("{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, '']}, {key: b, operator: Exists}, {key: c, operator: DoesNotExist, values: []}]}")),
	Entry("for namespaces by an empty selector", "summarize", "{allowedAgents: {namespaces: {from: Selector, selector: {}}}}"),
	Entry("with instructions and resources", "summarize", "{instructions: '# Summarize', resources: [{configMap: {name: files, items: [{key: a.md, path: references/a.md}, {key: b}]}}, {configMap: {name: more}}]}"),
	Entry("with instructions of the largest size", "summarize", "{instructions: "+strings.Repeat("a", 65536)+"}"),
	Entry("with an image", "summarize", "{image: 'registry.example:5000/skills/summarize@sha256:"+strings.Repeat("0", 64)+"'}"),
	Entry("with instructions and a name that is no folder", "a.b", "{id: a-b, instructions: a}"),
	Entry("with a long name and an id", strings.Repeat("a", 200), "{id: a}"),
)

var _ = DescribeTable("an AgentSkill is refused",
	func(ctx context.Context, name, fields, message string) {
		Expect(create(ctx, skill(name, fields))).To(refusal(message))
	},
	Entry("with a name that is too long for an id", strings.Repeat("a", 129), "{}", "shorten it or set spec.id"),
	Entry("with an invalid id", "summarize", "{id: '-x'}", "must start with a letter or digit"),
	Entry("without tags", "summarize", "{tags: []}", "spec.tags"),
	Entry("with one tag twice", "summarize", "{tags: [a, a]}", "Duplicate value"),
	Entry("without a description", "summarize", "{description: ''}", "spec.description"),
	Entry("with a mode that is no media type", "summarize", "{inputModes: [text]}", "spec.inputModes[0]"),
	Entry("with a schema that is no object", "summarize", "{inputSchema: true}", "spec.inputSchema"),
	Entry("for an unknown choice of namespaces", "summarize", "{allowedAgents: {namespaces: {from: Some}}}", `supported values: "Same", "All", "Selector"`),
	Entry("for selected namespaces without a selector", "summarize", "{allowedAgents: {namespaces: {from: Selector}}}", "spec.allowedAgents.namespaces.from Selector needs spec.allowedAgents.namespaces.selector"),
	Entry("for all namespaces, with a selector", "summarize", "{allowedAgents: {namespaces: {from: All, selector: {}}}}", "spec.allowedAgents.namespaces.selector has no effect unless from is Selector"),
	Entry("with a selector for the own namespace", "summarize", "{allowedAgents: {namespaces: {selector: {}}}}", "spec.allowedAgents.namespaces.selector has no effect unless from is Selector"),
	Entry("for namespaces by an invalid label key", "summarize", selecting("{matchLabels: {'a b': c}}"), "the keys of matchLabels must be label keys"),
	Entry("for namespaces by an invalid label value", "summarize", selecting("{matchLabels: {a: '-b'}}"), "spec.allowedAgents.namespaces.selector.matchLabels.a"),
	Entry("for namespaces by an unknown operator", "summarize", selecting("{matchExpressions: [{key: a, operator: Like}]}"), `supported values: "In", "NotIn", "Exists", "DoesNotExist"`),
	Entry("for namespaces by an expression with an invalid key", "summarize", selecting("{matchExpressions: [{key: 'a/b/c', operator: Exists}]}"), "must be a label key"),
	Entry("for namespaces by the operator In without values", "summarize", selecting("{matchExpressions: [{key: a, operator: In}]}"), "values is required for the operators In and NotIn, and forbidden for the others"),
	Entry("for namespaces by the operator Exists with a value", "summarize", selecting("{matchExpressions: [{key: a, operator: Exists, values: [b]}]}"), "values is required for the operators In and NotIn, and forbidden for the others"),
	Entry("for namespaces by an expression with an invalid value", "summarize", selecting("{matchExpressions: [{key: a, operator: In, values: ['b c']}]}"), "spec.allowedAgents.namespaces.selector.matchExpressions[0].values[0]"),
	Entry("with instructions that are too long", "summarize", "{instructions: "+strings.Repeat("a", 65537)+"}", "spec.instructions: Too long"),
	Entry("with instructions and an id that is no folder", "summarize", "{id: a/b, instructions: a}", "spec.id: Invalid value"),
	Entry("with an image and a name that is no folder", "a.b", "{image: 'a@sha256:"+strings.Repeat("0", 64)+"'}", "set spec.id, or remove instructions and image"),
	Entry("with instructions and a description that is too long for them", "summarize", "{instructions: a, description: "+strings.Repeat("a", 1025)+"}", "move the rest into the instructions"),
	Entry("with instructions and an image", "summarize", "{instructions: a, image: 'a@sha256:"+strings.Repeat("0", 64)+"'}", "remove instructions and resources, or image"),
	Entry("with resources and no instructions", "summarize", "{resources: [{configMap: {name: a}}]}", "resources need instructions"),
	Entry("with an image without a digest", "summarize", "{image: 'registry.example/a:1'}", "spec.image"),
	Entry("with a resource of the parent folder", "summarize", "{instructions: a, resources: [{configMap: {name: a, items: [{key: a, path: ../a}]}}]}", "spec.resources[0].configMap.items[0].path"),
	Entry("with a resource of an absolute path", "summarize", "{instructions: a, resources: [{configMap: {name: a, items: [{key: a, path: /a}]}}]}", "spec.resources[0].configMap.items[0].path"),
	Entry("with a resource without a ConfigMap", "summarize", "{instructions: a, resources: [{}]}", "spec.resources[0].configMap: Required value"),
	Entry("with more than 32 tags", "summarize", "{tags: ["+manyTags(33)+"]}", "must have at most 32 items"),
)

var _ = Describe("an AgentSkill's defaults", func() {
	It("share it inside its namespace only", func(ctx context.Context) {
		obj := skill("summarize", "{}")
		Expect(create(ctx, obj)).To(Succeed())
		from, _, err := unstructured.NestedString(obj.Object, "spec", "allowedAgents", "namespaces", "from")
		Expect(err).NotTo(HaveOccurred())
		Expect(from).To(Equal("Same"))
	})
})

// selecting returns the fields of a skill that is shared with the namespaces of a selector.
func selecting(selector string) string {
	return "{allowedAgents: {namespaces: {from: Selector, selector: " + selector + "}}}"
}

// manyTags returns a YAML list of n different tags.
func manyTags(n int) string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = strings.Repeat("t", i+1)
	}
	return strings.Join(tags, ", ")
}
