// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const alertsFile = root + "/" + chartDir + "/monitoring/alerts.yaml"

type alertGroups struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

func TestMonitoringIsOffByDefault(t *testing.T) {
	for name := range render(t, "") {
		if strings.HasPrefix(name, "PrometheusRule ") || strings.Contains(name, "-dashboard-") {
			t.Errorf("%s is rendered", name)
		}
	}
}

// TestPrometheusRuleHasTheTestedAlerts checks that the alerts in the PrometheusRule equal the alerts in alertsFile,
// except for the URLs of the runbooks, and for the manager that must not be absent, which is the one of the release.
func TestPrometheusRuleHasTheTestedAlerts(t *testing.T) {
	text, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want alertGroups
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Groups {
		for j, rule := range want.Groups[i].Rules {
			if rule.Alert == "A2AOperatorAbsent" {
				want.Groups[i].Rules[j].Expr = `absent(a2a_agents{job="a2a-operator", namespace="a2a-system", service="a2a-operator-metrics"})`
			}
			want.Groups[i].Rules[j].Annotations["runbook_url"] = "https://runbooks.example/a2a/" + rule.Alert + ".md"
		}
	}
	rule := render(t, "metrics: {serviceMonitor: {enabled: true}}\nmonitoring: {rules: {enabled: true, labels: {team: a}, runbookURL: 'https://runbooks.example/a2a/'}}")["PrometheusRule a2a-operator"]
	if rule == nil {
		t.Fatal("no PrometheusRule")
	}
	equal(t, "label", rule.GetLabels()["team"], "a")
	spec, err := json.Marshal(rule.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	var got alertGroups
	if err := yaml.UnmarshalStrict(spec, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}

	some, err := helm(t, "metrics: {serviceMonitor: {enabled: true}}\nmonitoring: {rules: {enabled: true, disabled: [A2AAgentNotReady]}}")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "disabled alert", strings.Contains(string(some), "A2AAgentNotReady"), false)
	equal(t, "other alert", strings.Contains(string(some), "A2AAgentUnavailable"), true)
}

func TestDashboardsAreTheirFiles(t *testing.T) {
	files, err := filepath.Glob(root + "/" + chartDir + "/monitoring/dashboards/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d dashboards, %v, want 4", len(files), err)
	}
	objects := render(t, "monitoring: {dashboards: {enabled: true, annotations: {folder: agents}}}")
	for _, file := range files {
		base := filepath.Base(file)
		config := typed[*corev1.ConfigMap](t, objects["ConfigMap a2a-operator-dashboard-"+strings.TrimSuffix(base, ".json")])
		equal(t, "label", config.Labels["grafana_dashboard"], "1")
		equal(t, "annotation", config.Annotations["folder"], "agents")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, base, config.Data[base], strings.TrimSpace(string(text)))
	}
}

// TestRulesNeedTheMetricsOfTheManager checks that the chart refuses alerts of which one would fire for ever.
func TestRulesNeedTheMetricsOfTheManager(t *testing.T) {
	for values, accepted := range map[string]bool{
		"monitoring: {rules: {enabled: true}}":                                                           false,
		"metrics: {enabled: false}\nmonitoring: {rules: {enabled: true}}":                                false,
		"monitoring: {rules: {enabled: true, disabled: [A2AOperatorAbsent]}}":                            true,
		"metrics: {serviceMonitor: {enabled: true}}\nmonitoring: {rules: {enabled: true}}":               true,
		"metrics: {enabled: false}\nmonitoring: {rules: {enabled: true, disabled: [A2AOperatorAbsent]}}": true,
	} {
		_, err := helm(t, values)
		if (err == nil) != accepted {
			t.Errorf("%s: %v, want accepted %t", values, err, accepted)
		}
		if err != nil && !strings.Contains(err.Error(), "metrics.serviceMonitor.enabled") {
			t.Errorf("%s: the refusal names no cure: %v", values, err)
		}
	}
}

// TestMonitorsSetTheJobs checks that the jobs are those that the alerts and dashboards select.
func TestMonitorsSetTheJobs(t *testing.T) {
	objects := render(t, "metrics: {serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}")
	for object, field := range map[string]string{"ServiceMonitor a2a-operator-metrics": "endpoints", "PodMonitor a2a-operator-agents": "podMetricsEndpoints"} {
		job := map[string]string{"endpoints": "a2a-operator", "podMetricsEndpoints": "a2a-agents"}[field]
		spec, err := json.Marshal(objects[object].Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, object, strings.Contains(string(spec), `"relabelings":[{"replacement":"`+job+`","targetLabel":"job"}]`), true)
	}
}
