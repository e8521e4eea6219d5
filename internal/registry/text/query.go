// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync/atomic"
)

// maxQueryWords bounds the words of a query. ParseQuery ignores further words. It does not count function words that it leaves out.
const maxQueryWords = 32

// stemBoost is the boost of a stem. The boost of the word itself is 1.
const stemBoost = 0.8

// Query is a text to search for, as groups of terms. A document matches a group if it
// has one of the terms of the group. It matches the query if it matches a group of the
// query. The zero value matches nothing.
type Query struct {
	Groups []Group
}

// Group has the forms of one word of a query: the word first, and then its stems in
// all languages of its script, because a query is too short to detect its language.
type Group []Form

// Form is one form of a word. Boost, from 0 to 1, is the factor of the score of a match.
type Form struct {
	Text  string
	Boost float64
}

// ParseQuery returns the query of a text. It leaves out function words unless the text
// has no other words.
func ParseQuery(s string) Query {
	var topics, functions []string
	for word := range Words(s) {
		switch {
		case slices.Contains(topics, word) || slices.Contains(functions, word):
		case functionWords[word] == 0:
			topics = append(topics, word)
		case len(functions) < maxQueryWords: // a topic may follow any number of function words
			functions = append(functions, word)
		}
		if len(topics) == maxQueryWords {
			break
		}
	}
	if len(topics) == 0 {
		topics = functions
	}
	q := Query{Groups: make([]Group, 0, len(topics))}
	for _, word := range topics {
		q.Groups = append(q.Groups, groupOf(word))
	}
	return q
}

// groups caches the groups of the words of queries, which share most of their words. A group replaces a cached group with the
// same place. The groups of the longest words have at most 3 MB in total.
var groups [groupPlaces]atomic.Pointer[Group]

const groupPlaces = 1 << 11

// groupOf returns the group of a normalized word. The group must not be modified.
func groupOf(word string) Group {
	place := &groups[maphash.String(stemSeed, word)%groupPlaces]
	if g := place.Load(); g != nil && (*g)[0].Text == word {
		return *g
	}
	g := newGroup(strings.Clone(word)) // word may be part of a long text, which the cache would retain
	place.Store(&g)
	return g
}

func newGroup(word string) Group {
	group := Group{{Text: word, Boost: 1}}
	script := scriptOf(word)
	if script == nil {
		return group
	}
	for _, l := range languages {
		if l.script != script {
			continue
		}
		stem := l.stemOf(word)
		if !slices.ContainsFunc(group, func(f Form) bool { return f.Text == stem }) {
			group = append(group, Form{Text: stem, Boost: stemBoost})
		}
	}
	return group
}

// Parameters of BM25 (Robertson and Zaragoza, 2009), there called k1 and b. Cards are short
// and repeat few words, so lengthPart is less than the 0.75 that is usual for documents.
const (
	saturation = 1.2
	lengthPart = 0.5
)

// Statistics describe the documents that a caller may see. A ranking does not depend on
// other documents, so that it reveals nothing about them.
type Statistics struct {
	// Documents is the number of documents.
	Documents int
	// MeanLength is the mean length of the documents that the query finds.
	MeanLength float64
}

// Weight returns the inverse document frequency of a term. documents is the number of
// documents that have the term. The result is positive.
func (s Statistics) Weight(documents int) float64 {
	return math.Log1p((float64(s.Documents-documents) + 0.5) / (float64(documents) + 0.5))
}

// Score returns the amount that a term adds to the score of a document with the given length
// and frequency of the term. weight is the Weight of the term times its boost.
func (s Statistics) Score(weight float64, frequency uint8, length uint16) float64 {
	if frequency == 0 {
		return 0
	}
	f, relative := float64(frequency), 1.0
	if s.MeanLength > 0 {
		relative = float64(length) / s.MeanLength
	}
	return weight * f * (saturation + 1) / (f + saturation*(1-lengthPart+lengthPart*relative))
}

// Limit returns the least upper bound of Score for a weight. Score approaches this bound as the
// frequency of the term grows.
func (s Statistics) Limit(weight float64) float64 { return weight * (saturation + 1) }
