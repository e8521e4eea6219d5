// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index holds what the registry knows about the agents of the cluster, and
// finds agents in it. Readers use immutable snapshots; informer events lead to the
// next one. It knows neither callers nor HTTP.
//
//	revision    the state of the cluster that a snapshot includes; pure
//	card        the card of an agent, rendered for each request; pure
//	item, term  the JSON of one agent, and the terms that lead to it; pure
//	entry       one agent, encoded once; pure
//	posting     the entries that have a term; dictionary: the postings; pure
//	leaf        consecutive entries; snapshot: all entries at one moment; pure
//	edit        a snapshot and changes -> the next snapshot; pure
//	query       the parameters of a search, validated; page: its result; pure
//	feed        changed agents -> the next snapshot; update: the list of changes
//	source      reads one agent from the manager's cache
package index

// The index reads Agents and their sidecar configurations through the manager's cache.
//
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
