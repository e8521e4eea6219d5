// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry serves the HTTP API that makes the agents of the cluster
// discoverable.
//
// It runs in every replica of the manager without leader election. It calls no agent and imports
// neither the controllers nor the engine: it reads Agents and their sidecar configurations. It
// writes nothing. Other packages serve paths for sidecars at its listener.
//
//	index, embedding, watch, access, ard, federation
//	               packages below this one
//	errors         the errors of all APIs, in one table
//	response       bodies and ETags of the API
//	searchlimits   limits of searches
//	requests       counts of requests, the operation of each, and the audit log of denied ones
//	watches        streams of the changes of agents
//	embeddings     the similarity of agents and queries by meaning
//	cardsignatures signatures of cards, which sidecars report
//	search         what a caller sees: all APIs search here
//	api            the caller of a request
//	endpoints      agents, cards and peers, for the registry's own API
//	a2aapi         the registry as an A2A agent; it has no tasks
//	ardapi         requests of ARD, with and without a token; the files ardsearch and
//	               ardcatalog make the responses
//	services       the authentication of paths that other packages serve
//	routes         the paths inside the cluster, and outside of it for a Gateway
//	server         the listeners, the metrics, and the wiring into a manager
//
// Files depend only on files above them in this list.
package registry

// The registry reads the pods of Agents, which have the signatures of cards, through the manager's cache.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
