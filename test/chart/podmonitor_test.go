// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestPodMonitorSelectsAgentPods(t *testing.T) {
	got := render(t, "metrics: {podMonitor: {enabled: true, labels: {team: a}, interval: 5s}}")["PodMonitor a2a-operator-agents"]
	if got == nil {
		t.Fatal("no PodMonitor")
	}
	equal(t, "label", got.GetLabels()["team"], "a")
	want := map[string]any{
		"namespaceSelector": map[string]any{"any": true},
		"selector": map[string]any{"matchExpressions": []any{
			map[string]any{"key": a2av1alpha1.LabelAgent, "operator": "Exists"},
		}},
		"podTargetLabels": []any{a2av1alpha1.LabelAgent},
		"podMetricsEndpoints": []any{
			map[string]any{
				"port": a2av1alpha1.PortHealth, "path": "/metrics", "interval": "5s",
				"relabelings": []any{map[string]any{"targetLabel": "job", "replacement": "a2a-agents"}},
			},
		},
	}
	if diff := cmp.Diff(want, got.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}

	some := render(t, "watchNamespaces: [team-a, team-b]\nmetrics: {podMonitor: {enabled: true}}")["PodMonitor a2a-operator-agents"]
	namespaces, _, err := unstructured.NestedMap(some.Object, "spec", "namespaceSelector")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"matchNames": []any{"team-a", "team-b"}}, namespaces); diff != "" {
		t.Errorf("with some namespaces (-want +got):\n%s", diff)
	}
}

// TestPodMonitorDependsOnItsKind checks that, by default, the chart has a PodMonitor only if the cluster has the kind.
// A value that sets enabled applies in any cluster.
func TestPodMonitorDependsOnItsKind(t *testing.T) {
	for name, test := range map[string]struct {
		values string
		known  bool
		want   bool
	}{
		"by itself":               {"", true, true},
		"without the kind":        {"", false, false},
		"not wanted":              {"metrics: {podMonitor: {enabled: false}}", true, false},
		"enabled without the CRD": {"metrics: {podMonitor: {enabled: true}}", false, true},
	} {
		var args []string
		if test.known {
			args = []string{"--api-versions", "monitoring.coreos.com/v1/PodMonitor"}
		}
		rendered, err := helm(t, test.values, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equal(t, name, strings.Contains(string(rendered), "kind: PodMonitor"), test.want)
	}
}
