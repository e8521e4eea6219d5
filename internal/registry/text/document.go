// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import "math"

// maxDocumentWords bounds the indexed words of a document. Searches do not find its further
// words.
const maxDocumentWords = 4096

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
	// Length is the number of words, weighted. It is at most 65,535.
	Length uint16
}

// Term is a word or a stem, with its weighted frequency in a document, at most 255.
type Term struct {
	Text      string
	Frequency uint8
}

// Analyze returns the document of the fields. It detects one language for each script, for all
// fields together.
func Analyze(fields []Field) Document {
	type occurrence struct {
		word   string
		weight uint8
	}
	found := make([]occurrence, 0, 128)
	counts := functionCounts{}
	for _, f := range fields {
		for word := range Words(f.Text) {
			if len(found) == maxDocumentWords {
				break
			}
			found = append(found, occurrence{word, f.Weight})
			counts.add(word)
		}
	}
	detected := counts.detect()
	terms := newTermSet(len(found))
	length := 0
	for _, o := range found {
		terms.add(o.word, o.weight)
		length += int(o.weight)
		if l := detected.of(o.word); l != nil {
			if stem := l.stemOf(o.word); stem != o.word {
				terms.add(stem, o.weight)
			}
		}
	}
	return Document{Terms: terms.list, Length: uint16(min(length, math.MaxUint16))}
}

// termSet collects terms in the order of their first occurrences. places has the index of
// each term in list.
type termSet struct {
	list   []Term
	places map[string]int
}

func newTermSet(words int) termSet {
	return termSet{list: make([]Term, 0, words), places: make(map[string]int, words)}
}

func (s *termSet) add(text string, weight uint8) {
	i, found := s.places[text]
	if !found {
		i = len(s.list)
		s.places[text] = i
		s.list = append(s.list, Term{Text: text})
	}
	s.list[i].Frequency = uint8(min(int(s.list[i].Frequency)+int(weight), math.MaxUint8)) //nolint:gosec // min bounds it
}
