// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text analyzes the texts of agents and of queries for ranked search. It is
// pure and does not depend on the index.
//
// A text becomes terms in three steps. Words normalizes the text (NFKC, full case folding)
// and splits it into words; text in scripts without spaces becomes bigrams. Analyze detects
// the language of the text by its function words. It then adds the stem of each word, by the
// Snowball algorithm of that language. Statistics scores the terms of a query in a document
// by BM25.
package text
