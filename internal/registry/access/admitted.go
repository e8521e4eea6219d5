// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// allNamespaces is the Admitted of an Agent that admits every namespace.
const allNamespaces Admitted = "*"

// Admitted is the set of namespaces whose ServiceAccounts an Agent's rules may admit, in
// addition to the Agent's own namespace. The names are sorted and separated by commas.
type Admitted string

// Contains reports whether namespace is in the set. It is false for "", the
// namespace of a caller that is no ServiceAccount.
func (a Admitted) Contains(namespace string) bool {
	return namespace != "" && (a == allNamespaces || slices.Contains(strings.Split(string(a), ","), namespace))
}

// AdmittedBy returns the namespaces that an Agent's rules may admit. It is empty for an
// Agent without rules, which admits only its own namespace, and for an Agent that accepts
// no ServiceAccount tokens. A rule that allows some calls counts, whatever else it
// requires, because the Agent decides about each call.
func AdmittedBy(agent *a2av1alpha1.Agent) Admitted {
	ways := agent.Spec.Access.Authentication
	byToken := len(ways) == 0 || slices.ContainsFunc(ways, func(a a2av1alpha1.Authentication) bool {
		return a.Type == a2av1alpha1.AuthenticationKubernetes
	})
	if !byToken {
		return ""
	}
	var names []string
	for i := range agent.Spec.Access.Authorization {
		rule := &agent.Spec.Access.Authorization[i]
		switch {
		case rule.Action != a2av1alpha1.AuthorizationAllow:
		case len(rule.Namespaces) > 0:
			names = append(names, rule.Namespaces...)
		case len(rule.Principals) > 0:
			for _, principal := range rule.Principals {
				if namespace := serviceAccountNamespace(principal); namespace != "" {
					names = append(names, namespace)
				}
			}
		default:
			return allNamespaces
		}
	}
	// A rule that names an impossible namespace admits no caller. Dropping such names also
	// ensures that "*" and "," have no other meaning in Admitted than the documented one.
	names = slices.DeleteFunc(names, func(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 })
	slices.Sort(names)
	return Admitted(strings.Join(slices.Compact(names), ","))
}
