// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// allCallers stands for every namespace.
const allCallers = "*"

// callersOf returns Facts.Callers. An agent without rules admits its own namespace
// only. A rule that allows some calls counts, whatever else it asks of them: the
// agent itself decides about each call.
func callersOf(agent *a2av1alpha1.Agent) string {
	ways := agent.Spec.Access.Authentication
	byToken := len(ways) == 0 || slices.ContainsFunc(ways, func(a a2av1alpha1.Authentication) bool {
		return a.Type == a2av1alpha1.AuthenticationKubernetes
	})
	if !byToken {
		return ""
	}
	var callers []string
	for i := range agent.Spec.Access.Authorization {
		rule := &agent.Spec.Access.Authorization[i]
		switch {
		case rule.Action != a2av1alpha1.AuthorizationAllow:
		case len(rule.Namespaces) > 0:
			callers = append(callers, rule.Namespaces...)
		case len(rule.Principals) > 0:
			for _, principal := range rule.Principals {
				if home := homeOf(principal); home != "" {
					callers = append(callers, home)
				}
			}
		default:
			return allCallers
		}
	}
	// Rules name namespaces to the letter: in one that cannot exist nobody is let in,
	// and the marks of this form stand for nothing else.
	callers = slices.DeleteFunc(callers, func(name string) bool { return !isLabel(name) })
	slices.Sort(callers)
	return strings.Join(slices.Compact(callers), ",")
}
