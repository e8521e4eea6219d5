// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import (
	"errors"
	"math"
	"math/bits"
)

// MaxDimensions bounds the dimensions of a vector. A vector uses a byte of memory for each dimension.
const MaxDimensions = 4096

// Vector is the direction of an embedding, with 8 bits for each dimension. It is immutable.
type Vector struct {
	values []int8
	// signs has a bit for each dimension: 1 for a negative value.
	signs []uint64
	// inverse is the reciprocal of the length of values.
	inverse float64
}

var (
	errDimensions = errors.New("a vector must have 1 to 4,096 dimensions")
	errNotFinite  = errors.New("a vector has a value that is not finite")
	errZero       = errors.New("a vector has no direction: all values are zero")
)

// newVector returns the direction of an embedding. It returns an error if the embedding has no dimensions or too many, a
// value that is not finite, or only zeros.
func newVector(embedding []float64) (*Vector, error) {
	if len(embedding) == 0 || len(embedding) > MaxDimensions {
		return nil, errDimensions
	}
	most := 0.0
	for _, v := range embedding {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errNotFinite
		}
		most = max(most, math.Abs(v))
	}
	if most == 0 {
		return nil, errZero
	}
	vector := &Vector{values: make([]int8, len(embedding)), signs: make([]uint64, (len(embedding)+63)/64)}
	squares := 0.0
	for i, v := range embedding {
		scaled := math.Round(v / most * math.MaxInt8)
		vector.values[i] = int8(scaled)
		squares += scaled * scaled
		if scaled < 0 {
			vector.signs[i/64] |= 1 << (i % 64)
		}
	}
	vector.inverse = 1 / math.Sqrt(squares)
	return vector, nil
}

// signDistance returns the number of dimensions whose signs differ, which is smaller for similar vectors. It is much
// faster than similarity. The vectors must have the same number of dimensions.
func (v *Vector) signDistance(other *Vector) int {
	distance := 0
	others := other.signs[:len(v.signs)]
	for i, word := range v.signs {
		distance += bits.OnesCount64(word ^ others[i])
	}
	return distance
}

// similarity returns the cosine of the angle between two vectors, which must have the same number of dimensions.
func (v *Vector) similarity(other *Vector) float64 {
	sum := int32(0) // at most 4,096 * 127 * 127
	others := other.values[:len(v.values)]
	for i, value := range v.values {
		sum += int32(value) * int32(others[i])
	}
	return float64(sum) * v.inverse * other.inverse
}
