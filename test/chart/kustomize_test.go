// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestChartEqualsKustomize checks that the chart with its default values and config/default contain the same objects,
// except for the additions of Helm and for the Namespace, which Helm creates itself.
func TestChartEqualsKustomize(t *testing.T) {
	out, err := tool("kustomize", "build", "config/default")
	if err != nil {
		t.Fatal(err)
	}
	kustomize := objects(t, out)
	delete(kustomize, "Namespace "+namespace)
	chart := render(t, "")

	keys := slices.Sorted(maps.Keys(chart))
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(kustomize))); diff != "" {
		t.Fatalf("objects (-chart +config/default):\n%s", diff)
	}
	for _, key := range keys {
		if diff := cmp.Diff(withoutHelm(chart[key]), withoutHelm(kustomize[key])); diff != "" {
			t.Errorf("%s (-chart +config/default):\n%s", key, diff)
		}
	}
}

// withoutHelm drops the parts that only a chart has, and the order of rules. It splits
// each rule into rules of one resource: the chart keeps the rules for cluster-scoped
// resources apart from the others.
func withoutHelm(object *unstructured.Unstructured) map[string]any {
	labels := object.GetLabels()
	for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
		delete(labels, label)
	}
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	object.SetAnnotations(annotations)
	if rules, ok := object.Object["rules"].([]any); ok {
		rules = ofOneResource(rules)
		object.Object["rules"] = rules
		slices.SortFunc(rules, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return object.Object
}

// ofOneResource splits the rules of a role into rules of one resource.
func ofOneResource(rules []any) []any {
	var split []any
	for _, rule := range rules {
		fields, ok := rule.(map[string]any)
		resources, _ := fields["resources"].([]any)
		if !ok || len(resources) == 0 {
			split = append(split, rule)
			continue
		}
		for _, resource := range resources {
			one := maps.Clone(fields)
			one["resources"] = []any{resource}
			split = append(split, one)
		}
	}
	return split
}
