// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestAdmittedBy(t *testing.T) {
	allow := func(r a2av1alpha1.AuthorizationRule) a2av1alpha1.AuthorizationRule {
		r.Action = a2av1alpha1.AuthorizationAllow
		return r
	}
	rules := func(r ...a2av1alpha1.AuthorizationRule) []a2av1alpha1.AuthorizationRule { return r }
	for name, test := range map[string]struct {
		rules []a2av1alpha1.AuthorizationRule
		types []a2av1alpha1.AuthenticationType
		want  Admitted
	}{
		"none":       {},
		"everyone":   {rules: rules(allow(a2av1alpha1.AuthorizationRule{Skills: []string{"s"}})), want: "*"},
		"namespaces": {rules: rules(allow(a2av1alpha1.AuthorizationRule{Namespaces: []string{"b", "a"}}), allow(a2av1alpha1.AuthorizationRule{Namespaces: []string{"b"}})), want: "a,b"},
		"principals": {rules: rules(allow(a2av1alpha1.AuthorizationRule{Principals: []string{"system:serviceaccount:x:bot", "apikey:k"}})), want: "x"},
		"denied":     {rules: rules(a2av1alpha1.AuthorizationRule{Action: a2av1alpha1.AuthorizationDeny})},
		"by a token": {rules: rules(allow(a2av1alpha1.AuthorizationRule{})), types: []a2av1alpha1.AuthenticationType{"JWT", "Kubernetes"}, want: "*"},
		"no names":   {rules: rules(allow(a2av1alpha1.AuthorizationRule{Namespaces: []string{"*", "a,b"}}), allow(a2av1alpha1.AuthorizationRule{Principals: []string{"system:serviceaccount:*:bot"}}))},
		"by a key":   {rules: rules(allow(a2av1alpha1.AuthorizationRule{})), types: []a2av1alpha1.AuthenticationType{"APIKey"}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{}
			agent.Spec.Access.Authorization = test.rules
			for _, way := range test.types {
				agent.Spec.Access.Authentication = append(agent.Spec.Access.Authentication, a2av1alpha1.Authentication{Type: way})
			}
			if got := AdmittedBy(agent); got != test.want {
				t.Errorf("AdmittedBy() = %q, want %q", got, test.want)
			}
		})
	}
}
