// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation searches the registries of other clusters and merges their
// results with the results of this registry. It does not depend on the index. A query
// that it sends does not contain the identity of a caller.
//
//	config     the peers file; token: the files with tokens
//	route      the registries that a query has passed, and the hop limit
//	failure    the outcomes of a search of one registry
//	peer       the connections to one registry, its limits, circuit breaker, state
//	slots      the limit of concurrent requests to a peer, in total and for each caller
//	peers      the peers of the file, and its reload; state: the states in the API
//	client     one request to one peer
//	answer     the results of a peer, checked and marked with their origin
//	merge      reciprocal rank fusion, and the page tokens of merged results
//	federation a search of all peers
//
// Source: the specification of ARD v0.91, sections 7.2 (search) and 8 (federation).
package federation
