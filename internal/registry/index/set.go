// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "math/bits"

// leafCapacity is the maximum number of entries of a leaf.
const leafCapacity = 256

// set is a set of slots of a leaf, which are numbers below leafCapacity.
type set [leafCapacity / 64]uint64

func (s *set) has(i uint8) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *set) add(i uint8)      { s[i/64] |= 1 << (i % 64) }
func (s *set) remove(i uint8)   { s[i/64] &^= 1 << (i % 64) }
func (s *set) empty() bool      { return *s == set{} }

func (s *set) and(other *set) {
	for i := range s {
		s[i] &= other[i]
	}
}

func (s *set) or(other *set) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// all yields the numbers in the set in ascending order.
func (s *set) all(yield func(uint8) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(uint8(i*64 + bits.TrailingZeros64(word))) { //nolint:gosec // below leafCapacity
				return
			}
		}
	}
}

// free returns the smallest number that is not in the set. The set must not be full.
func (s *set) free() uint8 {
	for i, word := range s {
		if word != ^uint64(0) {
			return uint8(i*64 + bits.TrailingZeros64(^word)) //nolint:gosec // below leafCapacity
		}
	}
	panic("index: no free slot in a leaf")
}
