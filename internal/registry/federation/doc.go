// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation searches the registries of other clusters and merges their
// results with those of this registry. It knows neither the index nor the callers of
// the registry: a query that it sends has no identity of a caller.
//
//	config     the peers file; token: the files with tokens
//	route      the registries that a query has passed, and the hop limit
//	failure    the outcomes of a search of one registry
//	peer       the connections to one registry, its budgets, circuit breaker, state
//	slots      the requests to a peer at a time, with a share for each caller
//	peers      the peers of the file, and its reload; state: what the API shows of them
//	client     one request to one peer
//	answer     the results of a peer, checked and marked with their origin
//	merge      reciprocal rank fusion, and the page tokens of merged results
//	federation a search of all peers
//
// Source: the specification of ARD v0.91, sections 7.2 (search) and 8 (federation).
package federation
