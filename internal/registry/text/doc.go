// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text analyzes the texts of agents and of queries for ranked search. It is
// pure and does not know the index.
//
// A text becomes terms in three steps. Words normalizes it (NFKC, full case folding)
// and splits it into words, where scripts without spaces become bigrams. The language
// of the text is detected by its function words, and each word also becomes its stem
// by the Snowball algorithm of that language. Statistics scores the terms of a query in a
// document by BM25.
package text
