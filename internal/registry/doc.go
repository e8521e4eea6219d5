// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry serves the HTTP API that makes the agents of the cluster
// discoverable, and takes the health reports of sidecars.
//
// It runs in every replica of the manager without leader election. It calls no
// agent and imports neither the controllers nor the engine: it reads Agents and their
// sidecar configurations. It writes only the conditions of pods whose sidecars
// report the health of their dependencies.
//
//	index   all agents in memory: snapshots, queries, and the feed from informers
//	embeddings  the similarity of agents and queries by meaning, from package embedding
//	watch   streams of the changes of agents
//	access  the caller of a request, and the agents that it sees
//	health  reports of sidecars -> conditions of their pods
//	a2aapi  the registry as an A2A agent; it has no tasks
//	ardapi  catalogs and searches of ARD, also for clients without a token
//	outside the catalog outside of the cluster, for a Gateway
//	api     requests -> responses
//	server  the listeners, and the wiring into a manager
package registry

// The registry reads pods through the manager's cache and writes their conditions, and the
// annotation with the signatures of their cards.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
