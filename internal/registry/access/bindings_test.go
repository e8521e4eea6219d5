// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// listAgents is a rule that allows to list Agents.
func listAgents() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents"}}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func toClusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kindClusterRole, Name: name}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

func roleBinding(namespace, name string, ref rbacv1.RoleRef, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: ref, Subjects: subjects}
}

func TestBindingsGrant(t *testing.T) {
	viewer := clusterRole("viewer", listAgents())
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "team-a", Name: "bot"}
	group := rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "dev"}
	bot := Caller{Username: "system:serviceaccount:team-a:bot", Groups: []string{"dev"}}
	rule := func(change func(*rbacv1.PolicyRule)) *rbacv1.ClusterRole {
		r := listAgents()
		change(&r)
		return clusterRole("viewer", r)
	}
	tests := map[string]struct {
		objects []any
		all     bool
		want    []string
	}{
		"nothing":        {},
		"ServiceAccount": {objects: []any{viewer, roleBinding("b", "x", toClusterRole("viewer"), account)}, want: []string{"b"}},
		"ServiceAccount without a namespace": {objects: []any{
			viewer, roleBinding("team-a", "x", toClusterRole("viewer"), rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "bot"}),
		}, want: []string{"team-a"}},
		"group":                                  {objects: []any{viewer, roleBinding("b", "x", toClusterRole("viewer"), group)}, want: []string{"b"}},
		"user name of the ServiceAccount":        {objects: []any{viewer, roleBinding("b", "x", toClusterRole("viewer"), user(bot.Username))}, want: []string{"b"}},
		"another user":                           {objects: []any{viewer, roleBinding("b", "x", toClusterRole("viewer"), user("jane"))}},
		"the RoleBinding before its ClusterRole": {objects: []any{roleBinding("b", "x", toClusterRole("viewer"), group), viewer}, want: []string{"b"}},
		"a Role of the namespace": {objects: []any{
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "r"}, Rules: []rbacv1.PolicyRule{listAgents()}},
			roleBinding("b", "x", rbacv1.RoleRef{Kind: kindRole, Name: "r"}, group),
			roleBinding("c", "x", rbacv1.RoleRef{Kind: kindRole, Name: "r"}, group),
		}, want: []string{"b"}},
		"all namespaces": {objects: []any{viewer, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "x"}, RoleRef: toClusterRole("viewer"), Subjects: []rbacv1.Subject{group},
		}}, all: true},
		"a wildcard": {objects: []any{rule(func(r *rbacv1.PolicyRule) {
			*r = rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
		}), roleBinding("b", "x", toClusterRole("viewer"), group)}, want: []string{"b"}},
		"get without list": {objects: []any{rule(func(r *rbacv1.PolicyRule) { r.Verbs = []string{"get"} }), roleBinding("b", "x", toClusterRole("viewer"), group)}},
		"another resource": {objects: []any{rule(func(r *rbacv1.PolicyRule) { r.Resources = []string{"agents/status"} }), roleBinding("b", "x", toClusterRole("viewer"), group)}},
		"another group":    {objects: []any{rule(func(r *rbacv1.PolicyRule) { r.APIGroups = []string{"apps"} }), roleBinding("b", "x", toClusterRole("viewer"), group)}},
		"one Agent by name": {objects: []any{
			rule(func(r *rbacv1.PolicyRule) { r.ResourceNames = []string{"echo"} }), roleBinding("b", "x", toClusterRole("viewer"), group),
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := NewBindings(clock.RealClock{})
			for _, o := range tt.objects {
				stripped, err := Strip(o)
				if err != nil {
					t.Fatal(err)
				}
				b.set(stripped)
			}
			got := b.of(&bot)
			if names := slices.Sorted(maps.Keys(got.namespaces)); got.all != tt.all || !slices.Equal(names, tt.want) {
				t.Errorf("of() = all %t, %q; want %t, %q", got.all, names, tt.all, tt.want)
			}
		})
	}
}

func TestBindingsNotifyOfRelevantChanges(t *testing.T) {
	b := NewBindings(clock.RealClock{})
	changes := 0
	b.notify(func() { changes++ })
	var got []int
	step := func(do func()) {
		before := changes
		do()
		got = append(got, changes-before)
	}
	bound := roleBinding("b", "x", toClusterRole("viewer"), user("jane"))
	step(func() { b.set(bound) })                                                                            // a binding to a role without rules
	step(func() { b.set(clusterRole("viewer", listAgents())) })                                              // the role allows to list Agents now
	step(func() { b.set(clusterRole("viewer", listAgents(), rbacv1.PolicyRule{Verbs: []string{"watch"}})) }) // other rules, but the same rights
	step(func() { b.set(clusterRole("unbound", listAgents())) })                                             // a role without a binding
	step(func() { b.set(bound) })                                                                            // the same binding (a resync)
	step(func() { b.set(roleBinding("b", "x", toClusterRole("viewer"), user("jane"), user("joe"))) })        // one more user in the binding
	step(func() { b.set(roleBinding("c", "other", toClusterRole("admin"), user("jane"))) })                  // a binding to an unknown role
	step(func() { b.remove(toolscache.DeletedFinalStateUnknown{Key: "b/x", Obj: bound}) })                   // the binding is deleted
	step(func() { b.remove(bound) })                                                                         // and deleted again
	step(func() { b.set(clusterRole("viewer")) })                                                            // a role whose binding was deleted
	if diff := cmp.Diff([]int{0, 1, 0, 0, 0, 1, 0, 1, 0, 0}, got); diff != "" {
		t.Errorf("changes of each step (-want +got):\n%s", diff)
	}
	if jane := b.of(&Caller{Username: "jane"}); len(jane.namespaces) > 0 || len(b.bySubject) != 1 || len(b.byRole) != 1 {
		t.Errorf("left: %v, %v, %v", jane.namespaces, b.bySubject, b.byRole)
	}
}
