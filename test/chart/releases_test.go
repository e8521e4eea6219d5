// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestReleasesDoNotCollide renders three releases for one namespace, with all that the chart can create. No object has the name of another one, and the
// operators have own names, of which those of Leases and Secrets are made. Only the CRDs are of one release.
func TestReleasesDoNotCollide(t *testing.T) {
	const values = "replicas: 3\ncrds: {enabled: false}\nwatchNamespaces: [%]\nnetworkPolicy: {enabled: true}\nregistry: {publisher: acme.example, peers: [" +
		"{name: west, url: 'https://west.example/ard', publisher: west.example, mode: Forward}]}\n" +
		"metrics: {serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}\n" +
		"monitoring: {rules: {enabled: true}, dashboards: {enabled: true}}"
	owners := map[string]string{}
	dashboards := map[string]map[string]string{}
	for _, name := range []string{"one", "two", "three"} {
		file := t.TempDir() + "/values.yaml"
		if err := os.WriteFile(file, []byte(strings.Replace(values, "%", "team-"+name, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := tool("helm", "template", name, chartDir, "--namespace", namespace, "--values", file)
		if err != nil {
			t.Fatal(err)
		}
		for key, object := range objects(t, out) {
			if other, taken := owners[key]; taken {
				t.Errorf("releases %s and %s both have the %s", other, name, key)
			}
			owners[key] = name
			if kind, dashboard, found := strings.Cut(key, "-dashboard-"); found && strings.HasPrefix(kind, "ConfigMap ") {
				config := typed[*corev1.ConfigMap](t, object)
				if dashboards[dashboard] == nil {
					dashboards[dashboard] = config.Data
				}
				if diff := cmp.Diff(dashboards[dashboard], config.Data); diff != "" {
					t.Errorf("dashboard %s has one uid, and is not the same in all releases (-want +got):\n%s", dashboard, diff)
				}
			}
			if key == "Deployment "+name+"-a2a-operator-manager" {
				args := typed[*appsv1.Deployment](t, object).Spec.Template.Spec.Containers[0].Args
				if !strings.Contains(strings.Join(args, "\n")+"\n", "--name="+name+"-a2a-operator\n") {
					t.Errorf("release %s: the operator has no name of its own: %q", name, args)
				}
			}
		}
	}
	if len(dashboards) != 4 {
		t.Errorf("%d dashboards, want 4", len(dashboards))
	}
	for _, name := range []string{"one", "two", "three"} {
		if owners["Deployment "+name+"-a2a-operator-manager"] != name {
			t.Errorf("release %s has no Deployment", name)
		}
	}
}
