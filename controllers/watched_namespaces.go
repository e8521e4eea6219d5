// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// watchedNamespaces lists the namespaces whose objects are cached; empty means all. A cached
// read of another namespace fails.
type watchedNamespaces []string

func (w watchedNamespaces) has(name string) bool {
	return len(w) == 0 || slices.Contains(w, name)
}

// only returns a predicate that accepts only the events of watched Namespaces. The cache
// contains all Namespaces, because they are cluster-scoped.
func (w watchedNamespaces) only() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(namespace client.Object) bool { return w.has(namespace.GetName()) })
}
