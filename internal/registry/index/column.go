// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

// column has, for each slot of a leaf, the frequency of a word in the entry of the slot.
// Searches make columns of frequent words, because reading a column is much faster than
// reading the words of the entries. A changed leaf starts without columns.
type column struct {
	term        term
	frequencies [leafCapacity]uint8
	// most is the highest of frequencies.
	most uint8
}

// newColumn returns the column of a word in entries. slots has the slot of each entry.
func newColumn(t term, entries []*Entry, slots []uint8) *column {
	c := &column{term: t}
	for i, e := range entries {
		frequency := e.frequency(t)
		c.frequencies[slots[i]] = frequency
		c.most = max(c.most, frequency)
	}
	return c
}
