// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// Snapshot has all agents at one time. It is immutable. With returns its successor, which shares
// all unchanged blocks with it (copy-on-write). The zero value is empty.
type Snapshot struct {
	// blocks have all entries in the order of keys. No block is empty.
	blocks []*block
	size   int
	// words has the words of all entries, and possibly words that no entry has any more.
	words []text.Word
	// revision is the state of the cluster that the snapshot includes. taken is the state of most namespaces, and behind has the states of
	// those with agents that the feed has still to read.
	revision, taken Revision
	behind          map[string]Revision
	// copied is about how many bytes the snapshot does not share with its predecessor, without those of entries.
	copied int
}

// pointerBytes is the size of a pointer, in bytes.
const pointerBytes = 8

// Revision returns the state of the cluster that the snapshot includes.
func (s *Snapshot) Revision() Revision { return s.revision }

// RevisionOf returns the state of a namespace that the snapshot includes, or that of all namespaces for "".
func (s *Snapshot) RevisionOf(namespace string) Revision {
	if namespace == "" {
		return s.revision
	}
	if r, isBehind := s.behind[namespace]; isBehind {
		return r
	}
	return s.taken
}

// Get returns the entry of a key, or nil if there is none.
func (s *Snapshot) Get(key Key) *Entry {
	i := s.blockOf(key)
	if i == len(s.blocks) {
		return nil
	}
	if j, found := s.blocks[i].find(key); found {
		return s.blocks[i].entries[j]
	}
	return nil
}

// blockOf returns the index of the first block whose last key is not before the key.
func (s *Snapshot) blockOf(key Key) int {
	i, _ := slices.BinarySearchFunc(s.blocks, key, func(b *block, k Key) int { return b.last().compare(k) })
	return i
}

// All yields all entries in the order of their keys.
func (s *Snapshot) All(yield func(*Entry) bool) {
	for _, b := range s.blocks {
		for _, e := range b.entries {
			if !yield(e) {
				return
			}
		}
	}
}

// since yields the entries that have changed since a revision, in the order of keys. It reads only
// the entries of blocks that have such entries.
func (s *Snapshot) since(r Revision) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, b := range s.blocks {
			if r.Includes(b.newest) {
				continue
			}
			for _, e := range b.entries {
				if !r.Includes(e.Revision) && !yield(e) {
					return
				}
			}
		}
	}
}

// scan yields the blocks with entries that have all terms and that the caller sees, each with these
// entries, in the order of keys. If caller is nil, all entries are visible.
func (s *Snapshot) scan(terms []term, caller *access.Set) iter.Seq2[*block, set] {
	open := slices.DeleteFunc(slices.Clone(terms), term.isClosed)
	return func(yield func(*block, set) bool) {
		for _, b := range s.blocks {
			if found := b.having(terms, open, b.visibleTo(caller)); found != 0 && !yield(b, found) {
				return
			}
		}
	}
}

// Namespaces returns the sorted namespaces of the agents that a caller sees. If caller is nil, all
// agents are visible.
func (s *Snapshot) Namespaces(caller *access.Set) []string {
	var names []string
	for b, visible := range s.scan(nil, caller) {
		for _, namespace := range b.namespaces {
			if namespace.entries&visible == 0 {
				continue
			}
			if n := len(names); n == 0 || names[n-1] != namespace.name {
				names = append(names, namespace.name)
			}
		}
	}
	return names
}

// With returns the snapshot after the changes, which must be sorted by key. It copies the list of blocks, and makes the
// blocks with changes again. The words do not change.
func (s *Snapshot) With(changes []Change) *Snapshot {
	next := &Snapshot{blocks: make([]*block, 0, len(s.blocks)+len(changes)/blockFill+1), size: s.size, words: s.words, revision: s.revision}
	i := 0
	for len(changes) > 0 && len(s.blocks) > 0 {
		first := min(s.blockOf(changes[0].Key), len(s.blocks)-1)
		next.blocks = append(next.blocks, s.blocks[i:first]...)
		own := changes[:s.changesOf(first, changes)]
		changes = changes[len(own):]
		next.replace(s.blocks[first], own)
		i = first + 1
		if i < len(s.blocks) && next.fits(len(s.blocks[i].entries)) {
			own = changes[:s.changesOf(i, changes)]
			changes = changes[len(own):]
			next.replace(s.blocks[i], own)
			i++
		}
	}
	next.blocks = append(next.blocks, s.blocks[i:]...)
	next.put(merge(nil, changes)) // of an empty snapshot
	next.copied += len(next.blocks) * pointerBytes
	return next
}

// changesOf returns the number of the first changes that belong to block i: those until its last key, and for the last
// block all changes.
func (s *Snapshot) changesOf(i int, changes []Change) int {
	if i == len(s.blocks)-1 {
		return len(changes)
	}
	last := s.blocks[i].last()
	n, _ := slices.BinarySearchFunc(changes, last, func(c Change, k Key) int {
		if c.Key == k {
			return -1
		}
		return c.Key.compare(k)
	})
	return n
}

// replace appends the entries of a block of the predecessor, with changes.
func (s *Snapshot) replace(b *block, changes []Change) {
	s.size -= len(b.entries)
	s.put(merge(b.entries, changes))
}

// fits reports whether the last block has space for n more entries, and stays at most half full.
func (s *Snapshot) fits(n int) bool {
	return len(s.blocks) > 0 && len(s.blocks[len(s.blocks)-1].entries)+n <= blockCapacity/2
}

// put appends entries in blocks of about equal size. Few entries go to the last block, so that small blocks do not
// remain after deletions.
func (s *Snapshot) put(entries []*Entry) {
	s.size += len(entries)
	if s.fits(len(entries)) && len(entries) > 0 {
		entries = slices.Concat(s.blocks[len(s.blocks)-1].entries, entries)
		s.blocks = s.blocks[:len(s.blocks)-1]
	}
	parts := 1
	if len(entries) > blockCapacity {
		parts = (len(entries) + blockFill - 1) / blockFill
	}
	for i := range parts {
		part := entries[i*len(entries)/parts : (i+1)*len(entries)/parts]
		if len(part) > 0 {
			s.blocks = append(s.blocks, newBlock(slices.Clone(part)))
			s.copied += blockBytes + len(part)*pointerBytes
		}
	}
}

// merge returns entries after the changes. Both are sorted by key.
func merge(entries []*Entry, changes []Change) []*Entry {
	merged := make([]*Entry, 0, len(entries)+len(changes))
	for i := range changes {
		n, found := slices.BinarySearchFunc(entries, changes[i].Key, func(e *Entry, k Key) int { return e.Key.compare(k) })
		merged = append(merged, entries[:n]...)
		if found {
			n++
		}
		entries = entries[n:]
		if changes[i].After != nil {
			merged = append(merged, changes[i].After)
		}
	}
	return append(merged, entries...)
}
