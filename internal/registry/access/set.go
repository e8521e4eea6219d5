// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Set is the set of Agents that a caller sees: all Agents of some namespaces and, in every
// namespace, the Agents whose Visibility is at least a threshold. Its members do not change. When
// IsStale returns true, the Authorizer resolves the next Set.
type Set struct {
	// minimum is the threshold: the caller sees every Agent with this or a higher Visibility.
	// VisibilityCluster is the lowest Visibility. With this threshold, the caller sees all Agents.
	minimum Visibility
	names   []string

	// changed is closed when RBAC objects change. It is nil for a Set of NewSet, which never
	// becomes stale.
	changed <-chan struct{}
	// until is the time at which the Set becomes stale if no RBAC object changes before. It is
	// zero if there is no such time.
	until time.Time
}

// NewSet returns the Set of all Agents of the namespaces and, in every namespace, of the Agents
// whose Visibility is at least minimum. The Set never becomes stale.
func NewSet(minimum Visibility, namespaces ...string) *Set {
	names := slices.Clone(namespaces)
	slices.Sort(names)
	return &Set{minimum: minimum, names: slices.Compact(names)}
}

// All reports whether the caller sees all Agents.
func (s *Set) All() bool { return s.minimum == VisibilityCluster }

// Minimum returns the lowest Visibility of the Agents that the caller sees in every namespace.
func (s *Set) Minimum() Visibility { return s.minimum }

// IsPeer reports whether the caller is a peer: it has the right of a peer, but no right to list
// the Agents of all namespaces.
func (s *Set) IsPeer() bool { return s.minimum == VisibilityFederated }

// Sees reports whether the caller sees an Agent in namespace with the Visibility v.
func (s *Set) Sees(namespace string, v Visibility) bool {
	return v >= s.minimum || s.Contains(namespace)
}

// Contains reports whether the caller sees all Agents of a namespace.
func (s *Set) Contains(namespace string) bool {
	if s.All() {
		return true
	}
	_, found := slices.BinarySearch(s.names, namespace)
	return found
}

// Names returns, in ascending order, the namespaces of which the caller sees all Agents. If All
// returns true, Names returns none. The result must not be modified.
func (s *Set) Names() []string { return s.names }

// Equal reports whether two sets have the same members.
func (s *Set) Equal(other *Set) bool {
	return s.minimum == other.minimum && slices.Equal(s.names, other.names)
}

// IsStale reports whether the caller possibly sees other Agents now: RBAC objects have changed, or
// the time Until has passed. A long request, such as a watch, then calls Authorizer.VisibleSet
// again, which sends reviews only for rights that changed in RBAC objects and for reviews that
// expired.
func (s *Set) IsStale(now time.Time) bool {
	select {
	case <-s.changed:
		return true
	default:
		return !s.until.IsZero() && !now.Before(s.until)
	}
}

// Changed returns a channel that is closed when RBAC objects change. It is nil for a Set of
// NewSet.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// Until returns the time at which the Set becomes stale if no RBAC object changes before, or the
// zero time if there is no such time.
func (s *Set) Until() time.Time { return s.until }

// Visibility determines which callers see an Agent, in addition to the callers that see its
// namespace. A higher value includes the callers of all lower values.
type Visibility uint8

// The values of spec.discovery.visibility. A public Agent with an external URL has
// VisibilityOutside: it is also in the catalog outside of the cluster.
const (
	VisibilityCluster Visibility = iota
	VisibilityFederated
	VisibilityPublic
	VisibilityOutside
)

// VisibilityOf returns the Visibility of an Agent. A value that a later version of the API has
// added counts as VisibilityCluster, which shows the Agent to the fewest callers.
func VisibilityOf(agent *a2av1alpha1.Agent) Visibility {
	switch agent.Spec.Discovery.Visibility {
	case a2av1alpha1.VisibilityFederated:
		return VisibilityFederated
	case a2av1alpha1.VisibilityPublic:
		if agent.Status.ExternalURL != "" {
			return VisibilityOutside
		}
		return VisibilityPublic
	default:
		return VisibilityCluster
	}
}

// allNamespaces is the value for an Agent that can admit ServiceAccounts of every namespace.
const allNamespaces Admitted = "*"

// Admitted is the set of namespaces whose ServiceAccounts the rules of an Agent can admit, in
// addition to the Agent's own namespace. The names are sorted and separated by commas.
type Admitted string

// Contains reports whether namespace is in the set. It returns false for "", which is the
// namespace of a caller that is no ServiceAccount.
func (a Admitted) Contains(namespace string) bool {
	return namespace != "" && (a == allNamespaces || slices.Contains(strings.Split(string(a), ","), namespace))
}

// Intersect returns the namespaces that are in both sets.
func (a Admitted) Intersect(other Admitted) Admitted {
	switch {
	case a == allNamespaces:
		return other
	case other == allNamespaces:
		return a
	}
	names := strings.Split(string(a), ",")
	return Admitted(strings.Join(slices.DeleteFunc(names, func(name string) bool { return !other.Contains(name) }), ","))
}

// AdmittedBy returns the namespaces whose ServiceAccounts the rules of an Agent can admit. It
// returns none for an Agent without rules, which admits only its own namespace, and for an Agent
// that accepts no ServiceAccount tokens. An Allow rule counts even if it has further requirements,
// because the Agent checks these for each call.
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
