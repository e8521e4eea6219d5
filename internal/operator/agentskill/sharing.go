// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentskill

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
)

// Target returns the AgentSkill that a reference of an Agent names.
func Target(agent *a2av1alpha1.Agent, ref a2av1alpha1.AgentSkillRef) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, agent.Namespace), Name: ref.Name}
}

// LeavesNamespace reports whether an Agent names a skill of another namespace.
func LeavesNamespace(agent *a2av1alpha1.Agent) bool {
	return slices.ContainsFunc(agent.Spec.SkillRefs, func(ref a2av1alpha1.AgentSkillRef) bool {
		return Target(agent, ref).Namespace != agent.Namespace
	})
}

// AsksFor reports whether an Agent names or selects a skill, whether the skill admits the
// Agent or not. It uses only the metadata of the skill.
func AsksFor(agent *a2av1alpha1.Agent, skill metav1.Object) bool {
	key := types.NamespacedName{Namespace: skill.GetNamespace(), Name: skill.GetName()}
	for _, ref := range agent.Spec.SkillRefs {
		if Target(agent, ref) == key {
			return true
		}
	}
	if agent.Spec.SkillSelector == nil || agent.Namespace != key.Namespace {
		return false
	}
	return cachedlabels.Match((*selector)(agent.Spec.SkillSelector), skill.GetLabels())
}

// Admits reports whether Agents of a namespace with the given labels may use a skill.
func Admits(skill *a2av1alpha1.AgentSkill, namespace string, namespaceLabels map[string]string) bool {
	if skill.Namespace == namespace {
		return true
	}
	allowed := skill.Spec.AllowedAgents.Namespaces
	switch allowed.From {
	case a2av1alpha1.FromAll:
		return true
	case a2av1alpha1.FromSelector:
		return allowed.Selector != nil && cachedlabels.Match((*selector)(labelSelector(allowed.Selector)), namespaceLabels)
	default:
		return false
	}
}

// labelSelector converts a selector of namespaces.
func labelSelector(from *a2av1alpha1.NamespaceSelector) *metav1.LabelSelector {
	converted := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range from.MatchLabels {
		converted.MatchLabels[key] = string(value)
	}
	for _, r := range from.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator}
		for _, value := range r.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		converted.MatchExpressions = append(converted.MatchExpressions, requirement)
	}
	return converted
}

// selector matches labels. The handlers of events call it for each pair of an Agent and a skill of a
// namespace, so it is not a labels.Selector, which would validate each value.
type selector metav1.LabelSelector

// Matches reports whether the labels meet all requirements. It is false for a requirement that is not
// valid.
func (s *selector) Matches(set labels.Labels) bool {
	for key, want := range s.MatchLabels {
		if value, ok := set.Lookup(key); !ok || value != want {
			return false
		}
	}
	for _, r := range s.MatchExpressions {
		if !meets(r, set) {
			return false
		}
	}
	return true
}

func meets(r metav1.LabelSelectorRequirement, set labels.Labels) bool {
	value, ok := set.Lookup(r.Key)
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		return ok && slices.Contains(r.Values, value)
	case metav1.LabelSelectorOpNotIn:
		return len(r.Values) > 0 && (!ok || !slices.Contains(r.Values, value))
	case metav1.LabelSelectorOpExists:
		return ok && len(r.Values) == 0
	case metav1.LabelSelectorOpDoesNotExist:
		return !ok && len(r.Values) == 0
	default:
		return false
	}
}
