// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

const (
	// blockCapacity is the maximum number of entries of a block: a set of entries is a uint64.
	blockCapacity = 64
	// blockFill is the number of entries of a block that is cut from more entries than one block can have. The rest of
	// its space is for later insertions.
	blockFill = blockCapacity * 3 / 4
	// rowBits is the number of bits of a term that select its row. With 512 rows, an entry with 77 terms is in 14 % of
	// the rows.
	rowBits = 9
)

// block has consecutive entries in the order of keys. It is immutable.
type block struct {
	entries []*Entry
	// newest is the lowest revision that includes the revisions of all entries.
	newest Revision
	// visible has, for each Visibility, the entries with this or a higher Visibility.
	visible [access.VisibilityOutside + 1]set
	// namespaces has the entries of each namespace, in the order of namespaces.
	namespaces []namespaceEntries
	// rows is the signature of the block: the row of a term has all entries that have the term. Unless the term is
	// closed, the row may have other entries, too, because terms share rows (a transposed Bloom filter with one hash
	// function).
	rows [1 << rowBits]set
}

// blockBytes is the size of a block without its entries, in bytes.
const blockBytes = int(unsafe.Sizeof(block{}))

type namespaceEntries struct {
	name    string
	entries set
}

// newBlock returns the block of at most blockCapacity entries, which must be sorted by key.
func newBlock(entries []*Entry) *block {
	b := &block{entries: entries}
	for i, e := range entries {
		own := set(1) << i
		b.newest = b.newest.Max(e.Revision)
		for v := range e.Visibility + 1 {
			b.visible[v] |= own
		}
		if n := len(b.namespaces); n == 0 || b.namespaces[n-1].name != e.Key.Namespace {
			b.namespaces = append(b.namespaces, namespaceEntries{name: e.Key.Namespace})
		}
		b.namespaces[len(b.namespaces)-1].entries |= own
		for _, t := range e.terms {
			b.rows[t.row()] |= own
		}
	}
	return b
}

func (b *block) last() Key { return b.entries[len(b.entries)-1].Key }

func (b *block) find(key Key) (int, bool) {
	return slices.BinarySearchFunc(b.entries, key, func(e *Entry, k Key) int { return e.Key.compare(k) })
}

// visibleTo returns the entries that a caller sees. A nil caller sees all.
func (b *block) visibleTo(caller *access.Set) set {
	if caller == nil {
		return b.visible[access.VisibilityCluster]
	}
	visible := b.visible[caller.Minimum()]
	if len(caller.Names()) == 0 {
		return visible
	}
	for i := range b.namespaces {
		if caller.Contains(b.namespaces[i].name) {
			visible |= b.namespaces[i].entries
		}
	}
	return visible
}

// having returns the entries among found that have all terms. open are the terms that are not closed.
func (b *block) having(terms, open []term, found set) set {
	for _, t := range terms {
		found &= b.rows[t.row()]
	}
	if len(open) == 0 {
		return found
	}
	for i := range found.all() {
		if !b.entries[i].has(open) {
			found &^= 1 << i
		}
	}
	return found
}

// set is a set of entries of a block, by their indexes.
type set uint64

func (s set) has(i int) bool { return s>>i&1 != 0 }

func (s set) count() int { return bits.OnesCount64(uint64(s)) }

// all yields the indexes in ascending order.
func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros64(uint64(s))) {
				return
			}
		}
	}
}
