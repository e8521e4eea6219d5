// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation searches the registries of other clusters and merges their
// results with those of this registry. It knows neither the index nor the callers of
// the registry: a query that it sends has no identity of a caller.
//
//	peers  the peers of the file, and its reload
//	route  the registries that a query has passed, and the hop limit
//	client one request to one peer: budgets, circuit breaker, state
//	answer the results of a peer, checked and marked with their origin
//	merge  reciprocal rank fusion, and the page tokens of merged results
//
// Source: the specification of ARD v0.91, sections 7.2 (search) and 8 (federation).
package federation
