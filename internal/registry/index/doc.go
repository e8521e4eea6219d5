// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index holds what the registry knows about the agents of the cluster, and
// finds agents in it. Readers use immutable snapshots; informer events lead to the
// next one. It knows neither callers nor HTTP.
//
//	card      renderings of one Agent Card; pure
//	entry     one agent, encoded once; pure
//	snapshot  all entries at one moment, with an inverted index; pure
//	query     the parameters of a search, validated; pure
//	feed      changed agents -> the next snapshot
//	source    reads one agent from the manager's cache
package index

// The index reads Agents and their sidecar configurations through the manager's cache.
//
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
