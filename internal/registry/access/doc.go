// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access authenticates the callers of the registry and decides which Agents each
// one sees. It asks the API server by TokenReview and SubjectAccessReview, caches
// the answers for a bounded time in bounded memory, and limits the rate at which
// one address causes reviews. It depends on neither the index nor HTTP responses.
//
//	review        TokenReviews and SubjectAccessReviews
//	authn         bearer token -> Caller
//	oidc          token of a person -> Caller
//	authorizer    Caller -> Set
//	set           the Agents that a caller sees
//	visibility    who sees an Agent beside the callers of its namespace
//	knowncallers  the sets of the callers, in bounded memory
//	bindings      which rights are worth a review, by the RBAC objects
//	rbac          the informers of the RBAC objects
//	admitted      the namespaces whose ServiceAccounts an Agent's rules admit
//	expiring      a bounded memory of answers
//	metrics       reviews and fetches of keys
package access

// The registry asks the API server who calls and what the caller may list. From the RBAC
// objects, it determines which reviews it needs, and when to repeat them.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings;clusterroles;clusterrolebindings,verbs=list;watch
