// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cachedlabels matches selectors against the labels of Namespaces and AgentSkills in the
// caches, which do not know the labels of each of them.
//
// The package is pure.
package cachedlabels

import "k8s.io/apimachinery/pkg/labels"

// unknown marks the labels of Unknown.
const unknown = "a2a-operator.dev/labels-unknown"

// Unknown returns the labels of an object whose labels the cache does not have, because they are too
// large or because the object is not in the cache yet. No selector matches them.
func Unknown() map[string]string { return map[string]string{unknown: ""} }

// Match reports whether a selector matches the labels of a cached object. It is false for the labels
// of Unknown: a selector that demands the absence of a label must not match because the cache omits
// the label.
func Match(selector interface{ Matches(set labels.Labels) bool }, set map[string]string) bool {
	_, is := set[unknown]
	return !is && selector.Matches(labels.Set(set))
}
