// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"math"
	"slices"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// leafFill is a threshold: if the last leaf has at least leafFill entries, leafFor adds a new
// leaf for an entry at the end. The remaining space in the full leaf is for later insertions.
const leafFill = leafCapacity * 3 / 4

// maxColumns bounds the columns of a leaf. So many columns use at most 18 KB.
const maxColumns = 64

// leaf has consecutive entries in the order of keys. Each entry has a slot, which is a number by
// which postings refer to the entry.
type leaf struct {
	epoch   uint64
	number  uint32
	entries []*Entry
	// slots has the slot of each entry in entries, and used is the set of these slots.
	slots []uint8
	used  set
	// namespaces has the slots of the entries of each namespace, in the order of namespaces.
	namespaces []namespaceSlots
	// visible has, for each Visibility, the slots of the entries with this or a higher
	// Visibility.
	visible [access.VisibilityOutside + 1]set
	// newest is the lowest revision that includes the revisions of all entries.
	newest Revision
	// lengths has the length of the entry in each slot, and shortest is the lowest of these
	// lengths.
	lengths  [leafCapacity]uint16
	shortest uint16
	columns  atomic.Pointer[[]*column]
}

type namespaceSlots struct {
	name  string
	slots set
}

func (l *leaf) last() Key { return l.entries[len(l.entries)-1].Key }

func (l *leaf) find(key Key) (int, bool) {
	return slices.BinarySearchFunc(l.entries, key, func(e *Entry, k Key) int { return e.Key.compare(k) })
}

func (l *leaf) clone(epoch uint64) *leaf {
	n := len(l.entries)
	return &leaf{
		epoch: epoch, number: l.number, used: l.used,
		entries: append(make([]*Entry, 0, n+1), l.entries...),
		slots:   append(make([]uint8, 0, n+1), l.slots...),
	}
}

// insert adds an entry at position i of entries, and returns the document of the entry.
func (l *leaf) insert(i int, e *Entry) document {
	slot := l.used.free()
	l.used.add(slot)
	l.entries = slices.Insert(l.entries, i, e)
	l.slots = slices.Insert(l.slots, i, slot)
	return documentAt(l.number, slot)
}

// delete removes the entry at position i of entries, and returns the document that the entry had.
func (l *leaf) delete(i int) document {
	slot := l.slots[i]
	l.used.remove(slot)
	l.entries = slices.Delete(l.entries, i, i+1)
	l.slots = slices.Delete(l.slots, i, i+1)
	return documentAt(l.number, slot)
}

// indexSlots sets namespaces, visible, newest, lengths and shortest.
func (l *leaf) indexSlots() {
	l.namespaces = nil
	l.shortest = math.MaxUint16
	clear(l.visible[:])
	l.newest = Revision{}
	for i, e := range l.entries {
		l.newest = l.newest.Max(e.Revision)
		l.lengths[l.slots[i]] = e.length
		l.shortest = min(l.shortest, e.length)
		if n := len(l.namespaces); n == 0 || l.namespaces[n-1].name != e.Key.Namespace {
			l.namespaces = append(l.namespaces, namespaceSlots{name: e.Key.Namespace})
		}
		l.namespaces[len(l.namespaces)-1].slots.add(l.slots[i])
		for v := range e.Visibility + 1 {
			l.visible[v].add(l.slots[i])
		}
	}
}

// entryAt returns the entry of a slot. The slot must be in use.
func (l *leaf) entryAt(slot uint8) *Entry {
	if i := int(slot); i < len(l.slots) && l.slots[i] == slot { // usual until an entry is inserted between others
		return l.entries[i]
	}
	return l.entries[bytes.IndexByte(l.slots, slot)]
}

// cachedColumn returns the column of a word, nil if no search has made it.
func (l *leaf) cachedColumn(t term) *column {
	if columns := l.columns.Load(); columns != nil {
		for _, c := range *columns {
			if c.term == t {
				return c
			}
		}
	}
	return nil
}

// makeColumn makes the column of a word, caches it and returns it. If the cache is full, the new
// column replaces the oldest one. If a concurrent search changes the cache at the same time,
// makeColumn does not cache the new column.
func (l *leaf) makeColumn(t term) *column {
	c := &column{term: t}
	for i, e := range l.entries {
		frequency := e.frequency(t)
		c.frequencies[l.slots[i]] = frequency
		c.most = max(c.most, frequency)
	}
	before := l.columns.Load()
	var next []*column
	if before != nil {
		next = (*before)[max(0, len(*before)-maxColumns+1):]
	}
	next = append(slices.Clone(next), c)
	l.columns.CompareAndSwap(before, &next)
	return c
}

// visibleTo returns the slots of the entries that a caller sees. A nil caller sees all.
func (l *leaf) visibleTo(caller *access.Set) set {
	if caller == nil {
		return l.used
	}
	visible := l.visible[caller.Minimum()]
	if len(caller.Names()) == 0 {
		return visible
	}
	for i := range l.namespaces {
		if caller.Contains(l.namespaces[i].name) {
			visible.or(&l.namespaces[i].slots)
		}
	}
	return visible
}

// column has the frequency of one word in each entry of a leaf, by slot. Searches make columns of
// frequent words, because reading a column is much faster than reading the words of all entries.
// A changed leaf has no columns at first.
type column struct {
	term        term
	frequencies [leafCapacity]uint8
	// most is the highest of frequencies.
	most uint8
}
