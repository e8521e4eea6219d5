// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry serves the HTTP API that makes the agents of the cluster
// discoverable, and receives the health reports of sidecars.
//
// It runs in every replica of the manager without leader election. It calls no agent and imports
// neither the controllers nor the engine: it reads Agents and their sidecar configurations. It
// writes nothing but the reports of sidecars, into the pods of these sidecars: the health of
// dependencies as conditions, and the signatures of the card as an annotation.
//
//	index, embedding, watch, access, ard, federation
//	               packages below this one
//	response       bodies, ETags, errors and rejections of the API
//	searchlimits   limits of searches
//	requests       counts of requests, the operation of each, and the audit log of denied ones
//	watches        streams of the changes of agents
//	httpserver     the HTTP server with its limits of connections
//	embeddings     the similarity of agents and queries by meaning
//	health         reports of sidecars -> conditions of their pods
//	cardsignatures signatures of cards, which sidecars report
//	api            the caller of a request, and the errors of the whole API
//	endpoints      agents, cards, peers and tokens, for the registry's own API
//	a2aapi         the registry as an A2A agent; it has no tasks
//	ardapi         requests of ARD, with and without a token; the files ardsearch and
//	               ardcatalog make the responses
//	routes         the paths inside the cluster, and outside of it for a Gateway
//	server         the listeners, the metrics, and the wiring into a manager
//
// Files depend only on files above them in this list.
package registry

// The registry reads pods through the manager's cache and writes their conditions, and the
// annotation with the signatures of their cards.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
