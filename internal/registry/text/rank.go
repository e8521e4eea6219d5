// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import "math"

// Parameters of BM25 (Robertson and Zaragoza, 2009). Cards are short and repeat
// little, so that their length counts less than in documents.
const (
	saturation = 1.2
	lengthPart = 0.5
)

// Statistics describe the documents that a caller may see. A ranking depends on no
// others, so that it reveals nothing about them.
type Statistics struct {
	// Documents is the number of documents.
	Documents int
	// MeanLength is the mean of their lengths.
	MeanLength float64
}

// Weight returns the inverse document frequency of a term that a number of the
// documents has. It is positive.
func (s Statistics) Weight(documents int) float64 {
	return math.Log1p((float64(s.Documents-documents) + 0.5) / (float64(documents) + 0.5))
}

// Score returns what a term adds to the score of a document of a length that has it
// with a frequency. The weight is that of the term, times its boost.
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

// Limit returns the least upper bound of Score for a weight.
func (s Statistics) Limit(weight float64) float64 { return weight * (saturation + 1) }
