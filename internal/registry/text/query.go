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

// maxQueryWords bounds the words of a query. ParseQuery ignores further words. Omitted function words do not count.
const maxQueryWords = 32

// stemBoost is the boost of a stem, compared with 1 for the word itself.
const stemBoost = 0.8

// Query is the text of a search, as groups of terms. A document matches a group if it has one of
// the group's terms, and matches the query if it matches one of the groups. The zero value matches
// nothing.
type Query struct {
	Groups []Group
}

// Group has the forms of one word of a query. The word is first. Its stems in all languages of its
// script follow, because a query is too short to detect its language. The last ones are the spellings of all of these without
// accents.
type Group []Form

// Form is one form of a word. Boost, from 0 to 1, is a factor of the score of documents that have
// the form.
type Form struct {
	Text  string
	Boost float64
}

// ParseQuery returns the query for a text. It omits function words, unless the text is a single function word. The query
// for a text of several function words has no groups, and matches nothing.
func ParseQuery(s string) Query {
	var topics []string
	var function string
	functions := 0
	for word := range Words(s) {
		switch {
		case functionWords[word] != 0:
			function = word
			functions++
		case !slices.Contains(topics, word):
			topics = append(topics, word)
		}
		if len(topics) == maxQueryWords {
			break
		}
	}
	if len(topics) == 0 && functions == 1 {
		topics = append(topics, function)
	}
	q := Query{Groups: make([]Group, 0, len(topics))}
	for _, word := range topics {
		q.Groups = append(q.Groups, groupOf(word))
	}
	return q
}

// groups caches the groups of words, because queries share most of their words. A group replaces the cached group that
// has the same place. With the longest words, the cache uses at most 3 MB.
var groups [groupPlaces]atomic.Pointer[Group]

const groupPlaces = 1 << 11

// groupOf returns the group of a normalized word. The caller must not modify the group.
func groupOf(word string) Group {
	place := &groups[maphash.String(stemSeed, word)%groupPlaces]
	if g := place.Load(); g != nil && (*g)[0].Text == word {
		return *g
	}
	g := newGroup(strings.Clone(word)) // a copy, because word may be part of a long text, which the cache would retain
	place.Store(&g)
	return g
}

func newGroup(word string) Group {
	group := Group{{Text: word, Boost: 1}}
	if script := scriptOf(word); script != nil {
		for _, l := range languages {
			if l.script == script {
				group = group.with(Form{Text: l.stemOf(word), Boost: stemBoost})
			}
		}
	}
	for _, f := range group {
		for _, text := range unaccented(f.Text) {
			group = group.with(Form{Text: text, Boost: f.Boost * unaccentedBoost})
		}
	}
	return group
}

// with returns the group with a form, unless it has a form with this text.
func (g Group) with(form Form) Group {
	if slices.ContainsFunc(g, func(f Form) bool { return f.Text == form.Text }) {
		return g
	}
	return append(g, form)
}

// Parameters of BM25, called k1 and b by Robertson and Zaragoza (2009). lengthPart is less than the
// usual 0.75, because cards are short and repeat few words.
const (
	saturation = 1.2
	lengthPart = 0.5
)

// Statistics has the numbers of the visible documents from which scores are computed. They do not
// depend on documents that the caller does not see, so that a ranking reveals nothing about those.
type Statistics struct {
	// Documents is the number of documents that match the filters of the query and that the caller
	// sees.
	Documents int
	// MeanLength is the mean length of the documents that the query finds.
	MeanLength float64
}

// Weight returns the inverse document frequency of a term, which is positive. documents is the
// number of visible documents that have the term.
func (s Statistics) Weight(documents int) float64 {
	return math.Log1p((float64(s.Documents-documents) + 0.5) / (float64(documents) + 0.5))
}

// Score returns the score that a term adds to a document. frequency is the frequency of the term in
// the document, and length the length of the document. weight is the Weight of the term multiplied
// by its boost.
func (s Statistics) Score(weight float64, frequency uint8, length uint16) float64 {
	if frequency == 0 {
		return 0
	}
	f := float64(frequency)
	relative := 1.0
	if s.MeanLength > 0 {
		relative = float64(length) / s.MeanLength
	}
	return weight * f * (saturation + 1) / (f + saturation*(1-lengthPart+lengthPart*relative))
}

// Limit returns the least upper bound of Score for a weight. Score approaches this bound as the
// frequency of the term grows.
func (s Statistics) Limit(weight float64) float64 { return weight * (saturation + 1) }
