// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oldGroup is the API group of a CRD of Agents that had no rules at first.
const oldGroup = "elder.a2a-operator.dev"

// oldCRD returns the CRD of Agents in the group oldGroup.
func oldCRD(ctx context.Context) *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	served := &apiextensionsv1.CustomResourceDefinition{}
	Expect(cluster.Get(ctx, client.ObjectKey{Name: "agents.a2a-operator.dev"}, served)).To(Succeed())
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: *served.Spec.DeepCopy()}
	crd.Name, crd.Spec.Group = "agents."+oldGroup, oldGroup
	return crd
}

// without removes the rules about a whole Agent and about its whole spec.
func without(root *apiextensionsv1.JSONSchemaProps) {
	spec := root.Properties["spec"]
	root.XValidations, spec.XValidations = nil, nil
	root.Properties["spec"] = spec
}

// A release may add a rule that existing objects violate. Such objects may keep the value, and users can still change all
// other fields.
var _ = Describe("an Agent that was stored before the rules existed", Ordered, func() {
	of := func(name, spec string) *unstructured.Unstructured {
		obj := agent("spec", spec)
		obj.SetAPIVersion(oldGroup + "/v1alpha1")
		obj.SetName(name)
		return obj
	}
	BeforeAll(func(ctx context.Context) {
		crd := oldCRD(ctx)
		rules := crd.Spec.DeepCopy()
		without(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		Expect(cluster.Create(ctx, crd)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Delete(ctx, crd)).To(Succeed()) })
		for name, fields := range map[string]string{
			"default":        "suspend: false",
			"authorization":  "access: {authorization: [{action: Deny}]}",
			"cors":           "access: {cors: {allowedOrigins: ['*']}}",
			"trust-bundle":   "trustBundle: {name: company}",
			"protocol":       "protocol: {cardProfile: V1}",
			"network-policy": "networkPolicy: {egress: []}",
		} {
			Eventually(func() error {
				return cluster.Create(ctx, of(name, "{description: x, remote: {url: 'https://a.example'}, "+fields+"}"))
			}).WithTimeout(crdTimeout).Should(Succeed())
		}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
		crd.Spec = *rules
		Expect(cluster.Update(ctx, crd)).To(Succeed())
		Eventually(func() error {
			return create(ctx, of("new", "{remote: {url: 'https://a.example'}, trustBundle: {name: company}}"))
		}).WithTimeout(crdTimeout).Should(MatchError(ContainSubstring("spec.trustBundle has no effect")))
	})

	DescribeTable("can be changed, except for the invalid field",
		func(ctx context.Context, name, other, message string) {
			stored := of(name, "{}")
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
			Expect(unstructured.SetNestedField(stored.Object, int64(3), "status", "skills")).To(Succeed())
			Expect(cluster.Status().Update(ctx, stored)).To(Succeed())
			Expect(unstructured.SetNestedField(stored.Object, "https://b.example", "spec", "remote", "url")).To(Succeed())
			Expect(unstructured.SetNestedField(stored.Object, true, "spec", "suspend")).To(Succeed())
			Expect(cluster.Update(ctx, stored)).To(Succeed())
			if other == "" {
				return
			}
			path, value, _ := strings.Cut(other, "=")
			changed := agent(path, value)
			fields, _, err := unstructured.NestedFieldCopy(changed.Object, strings.Split(path, ".")...)
			Expect(err).NotTo(HaveOccurred())
			Expect(unstructured.SetNestedField(stored.Object, fields, strings.Split(path, ".")...)).To(Succeed())
			Expect(cluster.Update(ctx, stored, client.DryRunAll)).To(MatchError(ContainSubstring(message)))
			unstructured.RemoveNestedField(stored.Object, strings.Split(path, ".")...)
			Expect(cluster.Update(ctx, stored, client.DryRunAll)).To(Succeed())
		},
		Entry("a name", "default", "", ""),
		Entry("authorization rules", "authorization", "spec.access={authorization: [{action: Allow}]}", "spec.access has no effect"),
		Entry("CORS", "cors", "spec.access={cors: {allowedOrigins: ['https://a.example']}}", "spec.access has no effect"),
		Entry("a trust bundle", "trust-bundle", "spec.trustBundle={name: other}", "spec.trustBundle has no effect"),
		Entry("settings of the protocol", "protocol", "spec.protocol={versionCheck: Strict}", "spec.protocol has no effect"),
		Entry("a setting of the NetworkPolicy", "network-policy", "spec.networkPolicy={management: None}", "spec.networkPolicy has no effect"),
	)
})
