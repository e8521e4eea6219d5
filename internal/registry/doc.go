// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry makes every agent of the cluster discoverable: an HTTP API
// over an immutable index that is fed from the manager's informers.
//
// It runs in every replica of the manager and needs no leader. It calls no
// agent, and knows neither the controllers nor the engine: what it says of an
// agent stands in the Agent and in its contract. It writes nothing to the cluster
// but reviews (who is calling, what may it see), and the conditions of pods whose
// sidecars report the health of their dependencies.
//
//	entry   what is known of one agent, encoded once; pure
//	index   an immutable snapshot of all entries, and its successor; pure
//	query   the parameters of a search, checked; pure
//	feed    informer events to the next snapshot
//	source  reads one agent from the cache
//	authn   a bearer token to its caller
//	authz   what a caller sees
//	health  reports of sidecars to conditions of their pods
//	api     requests to answers
//	server  the listener, and the wiring into a manager
package registry

// The registry asks the API server who is calling and what the caller sees.
// It reads Agents, their contracts and pods through the manager's cache.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
