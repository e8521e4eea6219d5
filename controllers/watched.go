// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// watchedNamespaces are those whose objects are in the cache; none means all.
// To ask a cache for others is an error.
type watchedNamespaces []string

func (w watchedNamespaces) has(name string) bool {
	return len(w) == 0 || slices.Contains(w, name)
}

// only lets the events of those Namespaces pass. All Namespaces are in the
// cache, for they are in none.
func (w watchedNamespaces) only() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(namespace client.Object) bool { return w.has(namespace.GetName()) })
}
