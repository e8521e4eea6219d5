// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text analyzes the texts of agents and of queries for ranked search. It is pure and
// does not depend on the index.
//
// A text becomes terms in three steps. Words normalizes the text (NFKC, full case folding) and
// splits it into words. It splits text in scripts without spaces into pairs of characters
// (bigrams). Analyze detects the language of the text by its function words, and adds the stem
// of each word by the Snowball algorithm of this language. Statistics computes the BM25 score
// of a query's terms in a document.
package text

import (
	"math"
	"sync"
)

// maxDocumentWords bounds the indexed words of a document, and maxDocumentBytes its texts in the form in which they are
// split into words. Searches do not find the document by its further words.
const (
	maxDocumentWords = 4096
	maxDocumentBytes = 64 << 10
)

// usualTerms is the number of terms of a document for which memory is allocated at first.
const usualTerms = 128

// Field is a text of a document and the weight of its words: a word of weight 3
// counts as much as a word that occurs three times in a field of weight 1.
type Field struct {
	Text   string
	Weight uint8
}

// Document has the searchable data of the texts of an agent.
type Document struct {
	// Terms has the words and their stems, without repetition.
	Terms []Term
	// Length is the weighted number of words: the sum of their weights, at most 65,535.
	Length uint16
}

// Term is a word or a stem. Frequency is the sum of the weights of its occurrences in a
// document, at most 255. IsMistakable is true for the words of Vocabulary.
type Term struct {
	Text         string
	Frequency    uint8
	IsMistakable bool
}

// Analyze returns the document that consists of the fields. For each script, it detects one
// language, which applies to all fields. Beside a word with accents and its stem, the document has their spellings
// without accents, with a lower frequency.
func Analyze(fields []Field) Document {
	space := analyses.Get().(*analysis)
	defer space.release()
	terms := termSet{list: make([]Term, 0, usualTerms), places: space.places}
	length := 0
	space.analyze(fields, func(word, stem string, weight uint8) {
		length += int(weight)
		terms.list[terms.add(word, weight)].IsMistakable = isMistakable(word)
		if stem != word {
			terms.add(stem, weight)
		}
		for _, form := range unaccented(word) {
			terms.add(form, max(1, weight-1))
		}
		if stem == word {
			return
		}
		for _, form := range unaccented(stem) {
			terms.add(form, max(1, weight-1))
		}
	})
	return Document{Terms: terms.list, Length: uint16(min(length, math.MaxUint16))}
}

// analyze calls add for each word of the fields, with its stem in the detected language or the word itself, and the
// weight of its field.
func (a *analysis) analyze(fields []Field, add func(word, stem string, weight uint8)) {
	found := a.found
	counts := functionCounts{}
	rest := maxDocumentBytes
	for _, f := range fields {
		composed := compose(f.Text, rest)
		rest -= len(composed)
		for word := range wordsOf(composed) {
			if len(found) == maxDocumentWords {
				break
			}
			found = append(found, occurrence{word, f.Weight})
			counts.add(word)
		}
	}
	a.found = found
	detected := counts.detect()
	for _, o := range found {
		stem := o.word
		if l := detected.of(o.word); l != nil {
			stem = l.stemOf(o.word)
		}
		add(o.word, stem, o.weight)
	}
}

// occurrence is a word of a text, with the weight of its field.
type occurrence struct {
	word   string
	weight uint8
}

// analysis has the memory that Analyze needs while it runs.
type analysis struct {
	found  []occurrence
	places map[string]int
}

var analyses = sync.Pool{New: func() any { return &analysis{places: map[string]int{}} }}

// maxPooledWords is the maximum number of words of a document after which Analyze keeps its
// memory for reuse.
const maxPooledWords = 512

// release makes the memory available to later calls of Analyze.
func (a *analysis) release() {
	if len(a.found) > maxPooledWords {
		return
	}
	clear(a.found) // so that the memory retains no texts
	a.found = a.found[:0]
	clear(a.places)
	analyses.Put(a)
}

// termSet collects terms in the order of their first occurrences. places has the index of
// each term in list.
type termSet struct {
	list   []Term
	places map[string]int
}

// add returns the index of the term.
func (s *termSet) add(text string, weight uint8) int {
	i, found := s.places[text]
	if !found {
		i = len(s.list)
		s.places[text] = i
		s.list = append(s.list, Term{Text: text})
	}
	s.list[i].Frequency = uint8(min(int(s.list[i].Frequency)+int(weight), math.MaxUint8)) //nolint:gosec // min bounds it
	return i
}
