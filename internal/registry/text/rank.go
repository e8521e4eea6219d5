// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import "math"

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

// Weight returns the inverse document frequency of a term that so many of the documents
// have. It is positive.
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

// Limit returns the least upper bound of Score for a weight. Score approaches it with the
// frequency of the term.
func (s Statistics) Limit(weight float64) float64 { return weight * (saturation + 1) }
