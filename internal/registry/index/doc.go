// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index is the search index of the agents of the cluster. Readers use immutable
// snapshots; informer events cause the next snapshot. The package does not authenticate
// callers and does not depend on HTTP.
//
//	revision    the state of the cluster that a snapshot includes; pure
//	key         the name of an agent; parameter: mistakes in parameters; pure
//	cardsource  the text that contains the card of an agent; pure
//	item, term  the JSON of one agent, and the terms by which it is found; pure
//	entry       one agent, encoded once; card: its card, rendered for each request; pure
//	set         slots of a leaf; posting: the entries that have a term; pure
//	dictionary  the postings; column: frequencies of a word; pure
//	leaf        consecutive entries; pure
//	position    a place in the order of a search, and its cursor; pure
//	query       the parameters of a search, validated; page: its result; pure
//	snapshot    all entries at one moment; pure
//	edit        a snapshot and changes -> the next snapshot; pure
//	fusion      a ranking by words and one by similarity -> one ranking; pure
//	ranking     the inputs of the scores of a search; best: the highest scores; pure
//	rank        a ranked search; search: any search; pure
//	feed        changed agents -> the next snapshot; update: the list of changes
//	subscription  wakes the readers that a change affects
//	source      reads one agent from the manager's cache
package index

// The index reads Agents and their sidecar configurations through the manager's cache.
//
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
