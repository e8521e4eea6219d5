// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math/bits"
	"slices"
)

// leafCapacity is the maximum number of entries of a leaf. A change rebuilds one
// leaf, and a search visits every leaf.
const leafCapacity = 256

// leafFill is the number of entries of a new leaf, which leaves space for insertions.
const leafFill = leafCapacity * 3 / 4

// maxPageBytes bounds a page of more than one entry. The size of a sidecar
// configuration bounds a single entry.
const maxPageBytes = 4 << 20

// Snapshot holds all agents at one moment. It is immutable: With returns its
// successor, which shares all unchanged leaves.
type Snapshot struct {
	leaves []*leaf
	size   int
}

// leaf holds consecutive entries in the order of keys, with an inverted index from
// terms to entries.
type leaf struct {
	entries    []*Entry
	terms      map[string]set
	namespaces []string
}

// set holds numbers below leafCapacity.
type set [leafCapacity / 64]uint64

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s set) empty() bool    { return s == set{} }

func (s set) with(i int) set {
	s[i/64] |= 1 << (i % 64)
	return s
}

func (s set) and(other set) set {
	for i := range s {
		s[i] &= other[i]
	}
	return s
}

func (s set) or(other set) set {
	for i := range s {
		s[i] |= other[i]
	}
	return s
}

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

func newLeaf(entries []*Entry) *leaf {
	l := &leaf{entries: entries, terms: make(map[string]set, 8*len(entries))}
	for i, e := range entries {
		for _, term := range e.terms {
			l.terms[term] = l.terms[term].with(i)
		}
		if n := len(l.namespaces); n == 0 || l.namespaces[n-1] != e.Key.Namespace {
			l.namespaces = append(l.namespaces, e.Key.Namespace)
		}
	}
	return l
}

func (l *leaf) last() Key { return l.entries[len(l.entries)-1].Key }

// match returns the entries that have all terms.
func (l *leaf) match(terms []string) set {
	if len(terms) == 0 {
		var all set
		for i := range l.entries {
			all = all.with(i)
		}
		return all
	}
	result := l.terms[terms[0]]
	for _, term := range terms[1:] {
		if result.empty() {
			break
		}
		result = result.and(l.terms[term])
	}
	return result
}

// inNamespaces returns the entries of the namespaces for which sees is true.
func (l *leaf) inNamespaces(sees func(namespace string) bool) set {
	var result set
	for _, namespace := range l.namespaces {
		if sees(namespace) {
			result = result.or(l.terms[namespaceTerm(namespace)])
		}
	}
	return result
}

// Size is the number of agents.
func (s *Snapshot) Size() int { return s.size }

// Get returns an entry, or nil.
func (s *Snapshot) Get(key Key) *Entry {
	i := s.leafOf(key)
	if i == len(s.leaves) {
		return nil
	}
	entries := s.leaves[i].entries
	if j, found := slices.BinarySearchFunc(entries, key, compareEntry); found {
		return entries[j]
	}
	return nil
}

// leafOf returns the index of the first leaf whose last key is not before key.
func (s *Snapshot) leafOf(key Key) int {
	i, _ := slices.BinarySearchFunc(s.leaves, key, func(l *leaf, k Key) int { return l.last().compare(k) })
	return i
}

func compareEntry(e *Entry, key Key) int { return e.Key.compare(key) }

// Search returns the page of a query: entries after its cursor that have all its
// terms, in the order of their keys, and at least one entry if there is any. sees
// selects namespaces; nil selects all.
func (s *Snapshot) Search(q *Query, sees func(namespace string) bool) Page {
	return s.search(q.terms, sees, q.after, q.limit)
}

func (s *Snapshot) search(terms []string, sees func(namespace string) bool, after Key, limit int) Page {
	page := Page{}
	for _, l := range s.leaves {
		matches := l.match(terms)
		if matches.empty() {
			continue
		}
		if sees != nil {
			matches = matches.and(l.inNamespaces(sees))
		}
		page.Total += matches.count()
		if !page.More && after.compare(l.last()) < 0 {
			page.take(l, matches, after, limit)
		}
	}
	return page
}

func (p *Page) take(l *leaf, matches set, after Key, limit int) {
	for i, e := range l.entries {
		if !matches.has(i) || e.Key.compare(after) <= 0 {
			continue
		}
		if n := len(p.Entries); n == limit || n > 0 && p.size+len(e.body) > maxPageBytes {
			p.More = true
			return
		}
		p.Entries = append(p.Entries, e)
		p.size += len(e.body)
	}
}

// Namespaces returns the sorted namespaces with a match of the query. A query for one
// namespace returns that namespace with or without a match, so that the work for
// it does not depend on hidden agents.
func (s *Snapshot) Namespaces(q *Query) []string {
	if q.namespace != "" {
		return []string{q.namespace}
	}
	return s.namespaces(q.terms)
}

func (s *Snapshot) namespaces(terms []string) []string {
	var found []string
	for _, l := range s.leaves {
		matches := l.match(terms)
		if matches.empty() {
			continue
		}
		for _, namespace := range l.namespaces {
			if n := len(found); n > 0 && found[n-1] == namespace {
				continue
			}
			if !matches.and(l.terms[namespaceTerm(namespace)]).empty() {
				found = append(found, namespace)
			}
		}
	}
	return found
}

// With returns the snapshot after the changes; a nil entry removes the key. It
// rebuilds the leaves that hold the changed keys.
func (s *Snapshot) With(changes map[Key]*Entry) *Snapshot {
	keys := make([]Key, 0, len(changes))
	for key := range changes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, Key.compare)

	next := &Snapshot{leaves: make([]*leaf, 0, len(s.leaves)+len(keys)/leafFill+1)}
	for i, l := range s.leaves {
		n := len(keys)
		if i < len(s.leaves)-1 { // the last leaf takes all further keys
			n, _ = slices.BinarySearchFunc(keys, l.last(), func(k, last Key) int {
				return cmp.Or(k.compare(last), -1) // after an equal key
			})
		}
		next.append(l, merge(l.entries, keys[:n], changes))
		keys = keys[n:]
	}
	next.append(nil, merge(nil, keys, changes))
	for _, l := range next.leaves {
		next.size += len(l.entries)
	}
	return next
}

// append adds entries after all others. It reuses an unchanged leaf, and merges
// the entries with the last leaf if both are small.
func (s *Snapshot) append(old *leaf, entries []*Entry) {
	if len(entries) == 0 {
		return
	}
	if old != nil && slices.Equal(old.entries, entries) {
		s.leaves = append(s.leaves, old)
		return
	}
	if n := len(s.leaves); n > 0 && len(s.leaves[n-1].entries)+len(entries) <= leafCapacity/2 {
		entries = slices.Concat(s.leaves[n-1].entries, entries)
		s.leaves = s.leaves[:n-1]
	}
	if len(entries) <= leafCapacity {
		s.leaves = append(s.leaves, newLeaf(entries))
		return
	}
	for chunk := range slices.Chunk(entries, leafFill) {
		s.leaves = append(s.leaves, newLeaf(chunk))
	}
}

// merge applies the changes of keys to the entries; both are sorted. Without keys it
// returns its argument.
func merge(entries []*Entry, keys []Key, changes map[Key]*Entry) []*Entry {
	if len(keys) == 0 {
		return entries
	}
	merged := make([]*Entry, 0, len(entries)+len(keys))
	for _, key := range keys {
		i, found := slices.BinarySearchFunc(entries, key, compareEntry)
		merged = append(merged, entries[:i]...)
		if found {
			i++
		}
		entries = entries[i:]
		if e := changes[key]; e != nil {
			merged = append(merged, e)
		}
	}
	return append(merged, entries...)
}
