// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"time"
)

// Set is the set of Agents that a caller sees: all Agents of some namespaces, and the Agents
// of every namespace whose Visibility is at least a given one. Its members do not change.
// IsStale reports when to ask the Authorizer for the next Set.
type Set struct {
	// least is the lowest Visibility that the caller sees in every namespace. It is
	// VisibilityCluster for a caller that sees all Agents.
	least Visibility
	names []string

	// changed is closed when RBAC objects change. It is nil for a Set that never changes.
	changed <-chan struct{}
	// until is the time at which the first review expires, zero if none does.
	until time.Time
}

// NewSet returns the Set of the Agents of namespaces, and of the Agents of every namespace
// whose Visibility is at least least. The Set never gets stale.
func NewSet(least Visibility, namespaces ...string) *Set {
	names := slices.Clone(namespaces)
	slices.Sort(names)
	return &Set{least: least, names: slices.Compact(names)}
}

// All reports whether the caller sees all Agents.
func (s *Set) All() bool { return s.least == VisibilityCluster }

// Least returns the lowest Visibility that the caller sees in every namespace.
func (s *Set) Least() Visibility { return s.least }

// IsPeer reports whether the caller is a peer: it has the right of a peer, and may not list
// the Agents of all namespaces.
func (s *Set) IsPeer() bool { return s.least == VisibilityFederated }

// Sees reports whether the caller sees an Agent of a namespace with a Visibility.
func (s *Set) Sees(namespace string, v Visibility) bool {
	return v >= s.least || s.Contains(namespace)
}

// Contains reports whether the caller sees all Agents of a namespace.
func (s *Set) Contains(namespace string) bool {
	if s.All() {
		return true
	}
	_, found := slices.BinarySearch(s.names, namespace)
	return found
}

// Names returns the namespaces in ascending order, or none if All is true. The result
// must not be modified.
func (s *Set) Names() []string { return s.names }

// Equal reports whether two sets have the same members.
func (s *Set) Equal(other *Set) bool {
	return s.least == other.least && slices.Equal(s.names, other.names)
}

// IsStale reports whether the Set may have changed: RBAC objects changed, or a review
// expired. The holder of a long request, such as a watch, then calls
// Authorizer.VisibleSet again, which costs no review if nothing changed.
func (s *Set) IsStale(now time.Time) bool {
	select {
	case <-s.changed:
		return true
	default:
		return !s.until.IsZero() && !now.Before(s.until)
	}
}

// Changed returns a channel that is closed when RBAC objects change.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// Until returns the time at which the Set gets stale if no RBAC object changes, or the zero
// time if the Set then never gets stale.
func (s *Set) Until() time.Time { return s.until }
