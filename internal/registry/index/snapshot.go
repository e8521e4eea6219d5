// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Snapshot has all agents at one time. It is immutable. With returns its successor, which shares
// all unchanged parts with it (copy-on-write). The zero value is empty.
type Snapshot struct {
	epoch uint64
	// leaves have all entries in the order of keys. numbers has the number of each leaf. A search reads only numbers to
	// find the few leaves that it needs, because reading all leaves would take longer than the rest of the search.
	leaves  []*leaf
	numbers []uint32
	// leafNumbers is greater than the number of each leaf. freeLeaves has the numbers below
	// leafNumbers that no leaf has.
	leafNumbers uint32
	freeLeaves  []uint32
	terms       dictionary
	size        int
	// revision is the state of the cluster that the snapshot includes.
	revision Revision
	// copied is about how many bytes the snapshot does not share with its predecessor, without those of entries.
	copied int
}

// The sizes of parts of a snapshot, in bytes: a leaf without its entries, and what an entry adds to a leaf and a leaf to a snapshot.
const (
	leafBytes         = 2 << 10
	entryPointerBytes = 9
	leafPointerBytes  = 12
)

// Revision returns the state of the cluster that the snapshot includes.
func (s *Snapshot) Revision() Revision { return s.revision }

// Get returns the entry of a key, or nil if there is none.
func (s *Snapshot) Get(key Key) *Entry {
	i := s.leafOf(key)
	if i == len(s.leaves) {
		return nil
	}
	if j, found := s.leaves[i].find(key); found {
		return s.leaves[i].entries[j]
	}
	return nil
}

// leafOf returns the index of the leaf to which the key belongs: the first leaf whose last key is
// not before the key.
func (s *Snapshot) leafOf(key Key) int {
	i, _ := slices.BinarySearchFunc(s.leaves, key, func(l *leaf, k Key) int { return l.last().compare(k) })
	return i
}

// All yields all entries in the order of their keys.
func (s *Snapshot) All(yield func(*Entry) bool) {
	for _, l := range s.leaves {
		for _, e := range l.entries {
			if !yield(e) {
				return
			}
		}
	}
}

// since yields the entries that have changed since a revision, in the order of keys. It reads only
// the leaves that have such entries.
func (s *Snapshot) since(r Revision) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, l := range s.leaves {
			if r.Includes(l.newest) {
				continue
			}
			for _, e := range l.entries {
				if !r.Includes(e.Revision) && !yield(e) {
					return
				}
			}
		}
	}
}

// match fills sets with the documents that have all terms and that the caller sees, and returns the
// number of these documents. The set of a leaf is at the index that is the leaf's number. sets must
// be empty. If caller is nil, all documents are visible.
func (s *Snapshot) match(terms []term, caller *access.Set, sets []set) (total int) {
	if len(terms) == 0 {
		for i, number := range s.numbers {
			sets[number] = s.leaves[i].visibleTo(caller)
			total += sets[number].count()
		}
		return total
	}
	total = s.intersect(terms, sets)
	if total == 0 || caller == nil || caller.All() {
		return total
	}
	total = 0
	for l, found := range s.leavesIn(sets) {
		visible := l.visibleTo(caller)
		found.and(&visible)
		total += found.count()
	}
	return total
}

// intersect is match for a caller that sees all documents. There must be at least one term.
func (s *Snapshot) intersect(terms []term, sets []set) (total int) {
	// Both slices are on the stack, unless a query has many terms.
	spaces := make([][1]document, usualConditions)
	iterators := make([]iterator, usualConditions)
	if len(terms) > usualConditions {
		spaces = make([][1]document, len(terms))
		iterators = make([]iterator, len(terms))
	}
	iterators = iterators[:len(terms)]
	for i, t := range terms {
		iterators[i] = s.terms.find(t, &spaces[i])
		if iterators[i].count == 0 {
			return 0
		}
	}
	slices.SortFunc(iterators, func(a, b iterator) int { return cmp.Compare(a.count, b.count) })
	for {
		number, found, ok := iterators[0].next()
		if !ok {
			return total
		}
		for i := 1; i < len(iterators) && !found.empty(); i++ {
			iterators[i].intersect(number, &found)
		}
		if !found.empty() {
			sets[number] = found
			total += found.count()
		}
	}
}

// leavesIn yields each leaf that has documents in sets, with its set, in the order of keys.
func (s *Snapshot) leavesIn(sets []set) iter.Seq2[*leaf, *set] {
	return func(yield func(*leaf, *set) bool) {
		for i, number := range s.numbers {
			if found := &sets[number]; !found.empty() && !yield(s.leaves[i], found) {
				return
			}
		}
	}
}

// matches has a set of documents for each leaf, at the index that is the leaf's number.
type matches struct{ sets []set }

var freeMatches = sync.Pool{New: func() any { return &matches{} }}

func newMatches(leaves int) *matches {
	m := freeMatches.Get().(*matches)
	if cap(m.sets) < leaves {
		m.sets = make([]set, leaves+leaves/4)
	}
	m.sets = m.sets[:leaves]
	clear(m.sets)
	return m
}

func (m *matches) release() { freeMatches.Put(m) }

// Namespaces returns the sorted namespaces of the agents that a caller sees. If caller is nil, all
// agents are visible.
func (s *Snapshot) Namespaces(caller *access.Set) []string {
	var names []string
	for _, l := range s.leaves {
		visible := l.visibleTo(caller)
		for i := range l.namespaces {
			slots := l.namespaces[i].slots
			slots.and(&visible)
			if slots.empty() {
				continue
			}
			if n := len(names); n == 0 || names[n-1] != l.namespaces[i].name {
				names = append(names, l.namespaces[i].name)
			}
		}
	}
	return names
}

// in yields the entries of the documents in sets, in the order of their keys.
func (s *Snapshot) in(sets []set) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for l, found := range s.leavesIn(sets) {
			for i, e := range l.entries {
				if found.has(l.slots[i]) && !yield(e) {
					return
				}
			}
		}
	}
}
