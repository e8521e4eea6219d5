// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedding compares texts by meaning, with the vectors of an endpoint for embeddings that speaks the API
// of OpenAI (POST /v1/embeddings). It depends on neither agents nor Kubernetes.
//
// An Embedder requests the vectors of documents in the background, in batches, and the vector of a query within a
// time budget. While the endpoint fails, a query has no vector, and the Embedder retries documents with backoff.
//
//	vector    a vector of 8-bit numbers, and the similarity of two
//	endpoint  texts -> vectors, by HTTP; everything in a response is bounded and validated
//	documents the vectors of documents; equal texts share one
//	queries   the vector of a query: a cache, a time budget, and a pause after failures
//	embedder  the background work
//	metrics   requests and vectors
package embedding
