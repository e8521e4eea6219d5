// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"maps"
	"math"
	"slices"
)

// maxDocumentWords bounds what is indexed of a document. The words after it find
// nothing.
const maxDocumentWords = 4096

// Field is a text of a document and the weight of its words: a word of weight 3
// counts as much as one that occurs three times in a field of weight 1.
type Field struct {
	Text   string
	Weight uint8
}

// Document is what a search knows of the texts of an agent.
type Document struct {
	// Terms has the words and their stems, sorted and without repetition.
	Terms []Term
	// Length is the number of words, weighted. It is at most 65,535.
	Length uint16
}

// Term is a word or a stem, and how often a document has it, weighted, at most 255.
type Term struct {
	Text      string
	Frequency uint8
}

// Analyze returns the document of the fields. All fields are in one language for each
// script, which is detected.
func Analyze(fields []Field) Document {
	type occurrence struct {
		word   string
		weight uint8
	}
	var found []occurrence
	var all []string
	for _, f := range fields {
		for word := range Words(f.Text) {
			if len(all) == maxDocumentWords {
				break
			}
			found, all = append(found, occurrence{word, f.Weight}), append(all, word)
		}
	}
	languages := detect(all)
	frequencies, length := map[string]int{}, 0
	for _, o := range found {
		frequencies[o.word] += int(o.weight)
		length += int(o.weight)
		if l := languages[scriptOf(o.word)]; l != nil {
			if stem := l.stemOf(o.word); stem != o.word {
				frequencies[stem] += int(o.weight)
			}
		}
	}
	d := Document{Terms: make([]Term, 0, len(frequencies)), Length: uint16(min(length, math.MaxUint16))}
	for _, word := range slices.Sorted(maps.Keys(frequencies)) {
		d.Terms = append(d.Terms, Term{Text: word, Frequency: uint8(min(frequencies[word], math.MaxUint8))}) //nolint:gosec // bounded
	}
	return d
}
