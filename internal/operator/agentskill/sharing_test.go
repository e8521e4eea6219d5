// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentskill

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestAdmits(t *testing.T) {
	gold := &a2av1alpha1.NamespaceSelector{MatchLabels: map[string]a2av1alpha1.LabelValue{"tier": "gold"}}
	expression := func(operator metav1.LabelSelectorOperator, values ...a2av1alpha1.LabelValue) *a2av1alpha1.NamespaceSelector {
		return &a2av1alpha1.NamespaceSelector{MatchExpressions: []a2av1alpha1.NamespaceSelectorRequirement{{Key: "tier", Operator: operator, Values: values}}}
	}
	bySelector := func(selector *a2av1alpha1.NamespaceSelector) a2av1alpha1.AllowedNamespaces {
		return a2av1alpha1.AllowedNamespaces{From: a2av1alpha1.FromSelector, Selector: selector}
	}
	tests := map[string]struct {
		allowed   a2av1alpha1.AllowedNamespaces
		namespace string
		labels    map[string]string
		want      bool
	}{
		"default, own namespace":                 {namespace: "own", want: true},
		"default, other namespace":               {namespace: "other"},
		"same, own namespace":                    {allowed: a2av1alpha1.AllowedNamespaces{From: a2av1alpha1.FromSame}, namespace: "own", want: true},
		"same, other namespace":                  {allowed: a2av1alpha1.AllowedNamespaces{From: a2av1alpha1.FromSame}, namespace: "other"},
		"same, other namespace, with a selector": {allowed: a2av1alpha1.AllowedNamespaces{From: a2av1alpha1.FromSame, Selector: &a2av1alpha1.NamespaceSelector{}}, namespace: "other"},
		"all":                                    {allowed: a2av1alpha1.AllowedNamespaces{From: a2av1alpha1.FromAll}, namespace: "other", want: true},
		"unknown":                                {allowed: a2av1alpha1.AllowedNamespaces{From: "Some"}, namespace: "other"},
		"selected":                               {allowed: bySelector(gold), namespace: "other", labels: map[string]string{"tier": "gold"}, want: true},
		"not selected":                           {allowed: bySelector(gold), namespace: "other", labels: map[string]string{"tier": "tin"}},
		"no labels":                              {allowed: bySelector(gold), namespace: "other"},
		"selected, own namespace with other labels": {allowed: bySelector(gold), namespace: "own", want: true},
		"an empty selector":                         {allowed: bySelector(&a2av1alpha1.NamespaceSelector{}), namespace: "other", want: true},
		"no selector":                               {allowed: a2av1alpha1.AllowedNamespaces{From: a2av1alpha1.FromSelector}, namespace: "other"},
		"In with the value":                         {allowed: bySelector(expression("In", "tin", "gold")), namespace: "other", labels: map[string]string{"tier": "gold"}, want: true},
		"NotIn with the value":                      {allowed: bySelector(expression("NotIn", "gold")), namespace: "other", labels: map[string]string{"tier": "gold"}},
		"Exists":                                    {allowed: bySelector(expression("Exists")), namespace: "other", labels: map[string]string{"tier": "x"}, want: true},
		"DoesNotExist":                              {allowed: bySelector(expression("DoesNotExist")), namespace: "other", labels: map[string]string{"tier": "x"}},
		"In without values":                         {allowed: bySelector(expression("In")), namespace: "other", labels: map[string]string{"tier": ""}},
		"NotIn without the label":                   {allowed: bySelector(expression("NotIn", "gold")), namespace: "other", want: true},
		"NotIn without values":                      {allowed: bySelector(expression("NotIn")), namespace: "other"},
		"Exists with a value":                       {allowed: bySelector(expression("Exists", "x")), namespace: "other", labels: map[string]string{"tier": "x"}},
		"DoesNotExist without the label":            {allowed: bySelector(expression("DoesNotExist")), namespace: "other", want: true},
		"DoesNotExist with a value":                 {allowed: bySelector(expression("DoesNotExist", "x")), namespace: "other"},
		"an unknown operator":                       {allowed: bySelector(expression("Like", "gold")), namespace: "other", labels: map[string]string{"tier": "gold"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "skill"}}
			skill.Spec.AllowedAgents.Namespaces = test.allowed
			if got := Admits(skill, test.namespace, test.labels); got != test.want {
				t.Errorf("Admits() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestRefersTo(t *testing.T) {
	named := []a2av1alpha1.AgentSkillRef{{Name: "other"}, {Name: "skill"}}
	foreign := []a2av1alpha1.AgentSkillRef{{Namespace: "library", Name: "skill"}}
	search := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "search"}}
	tests := map[string]struct {
		spec         a2av1alpha1.AgentSpec
		namespace    string
		want, leaves bool
	}{
		"nothing":                       {namespace: "own"},
		"by name":                       {spec: a2av1alpha1.AgentSpec{SkillRefs: named}, namespace: "own", want: true},
		"by name, of another namespace": {spec: a2av1alpha1.AgentSpec{SkillRefs: named}, namespace: "library"},
		"by namespace and name":         {spec: a2av1alpha1.AgentSpec{SkillRefs: foreign}, namespace: "library", want: true, leaves: true},
		"by namespace and name, the own namespace": {spec: a2av1alpha1.AgentSpec{SkillRefs: foreign}, namespace: "own", leaves: true},
		"by the own namespace and name":            {spec: a2av1alpha1.AgentSpec{SkillRefs: []a2av1alpha1.AgentSkillRef{{Namespace: "own", Name: "skill"}}}, namespace: "own", want: true},
		"by label":                                 {spec: a2av1alpha1.AgentSpec{SkillSelector: search}, namespace: "own", want: true},
		"by label, of another namespace":           {spec: a2av1alpha1.AgentSpec{SkillSelector: search}, namespace: "library"},
		"by another label":                         {spec: a2av1alpha1.AgentSpec{SkillSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}}, namespace: "own"},
		"by an invalid selector":                   {spec: a2av1alpha1.AgentSpec{SkillSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}}}, namespace: "own"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "agent"}, Spec: test.spec}
			skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "skill", Labels: map[string]string{"team": "search"}}}
			if got := AsksFor(agent, skill); got != test.want {
				t.Errorf("AsksFor() = %v, want %v", got, test.want)
			}
			if got := LeavesNamespace(agent); got != test.leaves {
				t.Errorf("LeavesNamespace() = %v, want %v", got, test.leaves)
			}
		})
	}
}
