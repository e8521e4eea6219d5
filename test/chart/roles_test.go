// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// The manager needs no right to read Secrets: it mounts them into pods by name.
func TestManagerReadsNoSecrets(t *testing.T) {
	for key, object := range render(t, "") {
		var rules []rbacv1.PolicyRule
		switch object.GetKind() {
		case "ClusterRole":
			rules = typed[*rbacv1.ClusterRole](t, object).Rules
		case "Role":
			rules = typed[*rbacv1.Role](t, object).Rules
		}
		for _, rule := range rules {
			if key == "Role a2a-operator-token-keys" && slices.Equal(rule.ResourceNames, []string{"a2a-operator-token-keys"}) {
				continue
			}
			for _, denied := range []string{"secrets", "*"} {
				if slices.Contains(rule.Resources, denied) || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") {
					t.Errorf("%s allows too much: %v", key, rule)
				}
			}
		}
	}
}

// TestRolesOfSomeNamespaces checks the rights of a manager that watches some namespaces. It has a Role in each of them
// with every right to namespaced objects, and a ClusterRole with only the other rights.
func TestRolesOfSomeNamespaces(t *testing.T) {
	const role = "ClusterRole a2a-operator-manager"
	all := typed[*rbacv1.ClusterRole](t, render(t, "")[role]).Rules
	got := render(t, "watchNamespaces: [team-a, team-b]")
	cluster := typed[*rbacv1.ClusterRole](t, got[role]).Rules
	for _, namespace := range []string{"team-a", "team-b"} {
		rules := typed[*rbacv1.Role](t, got["Role "+namespace+"/a2a-operator-manager"]).Rules
		if diff := cmp.Diff(all, slices.Concat(cluster, rules)); diff != "" {
			t.Errorf("ClusterRole and Role in %s (-ClusterRole for all +got):\n%s", namespace, diff)
		}
		binding := typed[*rbacv1.RoleBinding](t, got["RoleBinding "+namespace+"/a2a-operator-manager"])
		equal(t, "role", binding.RoleRef, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "a2a-operator-manager"})
		if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "a2a-system", Name: "a2a-operator-manager"}}, binding.Subjects); diff != "" {
			t.Errorf("subjects in %s (-want +got):\n%s", namespace, diff)
		}
	}
	var resources []string
	for _, rule := range cluster {
		resources = append(resources, rule.Resources...)
	}
	slices.Sort(resources)
	want := []string{"clusterrolebindings", "clusterroles", "customresourcedefinitions", "customresourcedefinitions", "leases", "namespaces", "subjectaccessreviews", "tokenreviews"}
	if diff := cmp.Diff(want, resources); diff != "" {
		t.Errorf("resources of the ClusterRole (-want +got):\n%s", diff)
	}
}

func TestUserRolesAggregate(t *testing.T) {
	const viewer = "ClusterRole a2a-operator-viewer"
	equal(t, "by default", render(t, "")[viewer].GetLabels()["rbac.authorization.k8s.io/aggregate-to-view"], "true")
	equal(t, "off", render(t, "rbac: {aggregate: false}")[viewer].GetLabels()["rbac.authorization.k8s.io/aggregate-to-view"], "")
}

// TestFlowSchema checks that the requests of the manager's ServiceAccount have a priority level.
func TestFlowSchema(t *testing.T) {
	const key = "FlowSchema a2a-operator-manager"
	flow := typed[*flowcontrolv1.FlowSchema](t, render(t, "apiPriority: {level: operators}")[key])
	equal(t, "priority level", flow.Spec.PriorityLevelConfiguration.Name, "operators")
	equal(t, "account", *flow.Spec.Rules[0].Subjects[0].ServiceAccount, flowcontrolv1.ServiceAccountSubject{Namespace: "a2a-system", Name: "a2a-operator-manager"})
	if flow, found := render(t, "apiPriority: {enabled: false}")[key]; found {
		t.Errorf("apiPriority.enabled is false, and the chart has %v", flow)
	}
}
