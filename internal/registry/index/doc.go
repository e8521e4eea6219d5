// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index is the search index of the agents of the cluster. Readers use immutable
// snapshots; informer events cause the next snapshot. The package does not authenticate
// callers and does not depend on HTTP.
//
//	revision      the state of the cluster that a snapshot includes; pure
//	key           the name of an agent, and a place in the order of a search; pure
//	item, term    the JSON of one agent, and the terms by which it is found; pure
//	entry         one agent, encoded once, and its card; pure
//	block         consecutive entries, and the signature of their terms; pure
//	query         the parameters of a search, validated; page: its result; pure
//	snapshot      all entries at one moment; a snapshot and changes -> the next snapshot; pure
//	ranking       the entries that words find, and their scores; pure
//	forgiving     similar words in place of words that no entry has; pure
//	vocabulary    the distinct words of all entries
//	search        any search, also by words and by similarity; pure
//	update        the list of changes; feed: changed agents -> the next snapshot
//	subscription  wakes the readers that a change affects
//	source        reads one agent from the manager's cache, and a card that the cache lacks
package index

// The index reads Agents and their sidecar configurations through the manager's cache.
//
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
