// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"sync"
)

// Set is the set of namespaces whose Agents a caller sees. Its members do not change;
// Stale tells when to ask the Authorizer for the next Set.
type Set struct {
	all   bool
	names []string

	stale chan struct{}
	once  sync.Once
}

func newSet(all bool, names []string) *Set {
	slices.Sort(names)
	return &Set{all: all, names: slices.Compact(names), stale: make(chan struct{})}
}

// All reports whether the caller sees the Agents of all namespaces.
func (s *Set) All() bool { return s.all }

// Contains reports whether the caller sees the Agents of a namespace.
func (s *Set) Contains(namespace string) bool {
	if s.all {
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
	return s.all == other.all && slices.Equal(s.names, other.names)
}

// Stale returns a channel that is closed when the set may have changed: RBAC objects
// changed, or a review expired. The holder of a long request, such as a watch, then
// calls Authorizer.Namespaces again, which costs no review if nothing changed.
func (s *Set) Stale() <-chan struct{} { return s.stale }

func (s *Set) markStale() { s.once.Do(func() { close(s.stale) }) }

func (s *Set) isStale() bool {
	select {
	case <-s.stale:
		return true
	default:
		return false
	}
}
