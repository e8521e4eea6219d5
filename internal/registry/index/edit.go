// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "slices"

// edit builds the successor of a snapshot. It copies each node (leaf, page, bucket or posting)
// before it changes the node for the first time, and marks the copy with its epoch. It changes
// only nodes with its epoch.
type edit struct {
	*Snapshot
	epoch uint64
}

// With returns the snapshot after the changes, which must be sorted by key. The time is
// proportional to the number of leaves, the number of changes, and the number of documents that
// have the changed terms.
func (s *Snapshot) With(changes []Change) *Snapshot {
	next := *s
	next.copied = 0
	next.leaves = slices.Clone(s.leaves)
	next.numbers = slices.Clone(s.numbers)
	next.freeLeaves = slices.Clone(s.freeLeaves)
	next.epoch++
	next.terms.copied = 0
	e := &edit{Snapshot: &next, epoch: next.epoch}
	for i := range changes {
		if changes[i].After != nil {
			e.put(changes[i].After)
		} else {
			e.delete(changes[i].Key)
		}
	}
	for _, l := range next.leaves {
		if l.epoch == e.epoch {
			l.indexSlots()
			next.copied += leafBytes + len(l.entries)*entryPointerBytes
		}
	}
	next.copied += next.terms.copied + len(next.leaves)*leafPointerBytes
	return &next
}

// own returns leaf i for a change. If the leaf has another epoch, own first replaces it by a
// copy.
func (e *edit) own(i int) *leaf {
	if e.leaves[i].epoch != e.epoch {
		e.leaves[i] = e.leaves[i].clone(e.epoch)
	}
	return e.leaves[i]
}

// insertLeaf adds an empty leaf at position i.
func (e *edit) insertLeaf(i int) *leaf {
	l := &leaf{epoch: e.epoch}
	if n := len(e.freeLeaves); n > 0 {
		l.number = e.freeLeaves[n-1]
		e.freeLeaves = e.freeLeaves[:n-1]
	} else {
		l.number = e.leafNumbers
		e.leafNumbers++
	}
	e.leaves = slices.Insert(e.leaves, i, l)
	e.numbers = slices.Insert(e.numbers, i, l.number)
	return l
}

func (e *edit) deleteLeaf(i int) {
	e.freeLeaves = append(e.freeLeaves, e.leaves[i].number)
	e.leaves = slices.Delete(e.leaves, i, i+1)
	e.numbers = slices.Delete(e.numbers, i, i+1)
}

func (e *edit) put(entry *Entry) {
	l := e.leafFor(entry.Key)
	i, found := l.find(entry.Key)
	if found {
		e.replace(l, i, entry)
		return
	}
	doc := l.insert(i, entry)
	for _, t := range entry.terms {
		e.terms.add(t, doc, e.epoch)
	}
	e.size++
}

// leafFor returns the leaf that has the key or, for a new key, the leaf with space for it at
// its place in the order. It splits a full leaf, or adds a leaf, if necessary.
func (e *edit) leafFor(key Key) *leaf {
	i := e.leafOf(key)
	if i == len(e.leaves) {
		if i == 0 || len(e.leaves[i-1].entries) >= leafFill {
			return e.insertLeaf(i)
		}
		return e.own(i - 1)
	}
	l := e.own(i)
	if _, found := l.find(key); found || len(l.entries) < leafCapacity {
		return l
	}
	right := e.insertLeaf(i + 1)
	for len(l.entries) > leafCapacity/2 {
		e.move(l, len(l.entries)-1, right, 0)
	}
	if l.last().compare(key) < 0 {
		return right
	}
	return l
}

// replace replaces entry i of a leaf by an entry with the same key.
func (e *edit) replace(l *leaf, i int, entry *Entry) {
	doc := documentAt(l.number, l.slots[i])
	before := l.entries[i].terms
	after := entry.terms
	l.entries[i] = entry
	if len(before) == len(after) && len(before) > 0 && &before[0] == &after[0] {
		return
	}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0] < after[0]:
			e.terms.remove(before[0], doc, e.epoch)
			before = before[1:]
		case len(before) == 0 || after[0] < before[0]:
			e.terms.add(after[0], doc, e.epoch)
			after = after[1:]
		default:
			before = before[1:]
			after = after[1:]
		}
	}
}

// move moves an entry to another leaf.
func (e *edit) move(from *leaf, i int, to *leaf, j int) {
	entry := from.entries[i]
	before := from.delete(i)
	after := to.insert(j, entry)
	for _, t := range entry.terms {
		e.terms.remove(t, before, e.epoch)
		e.terms.add(t, after, e.epoch)
	}
}

func (e *edit) delete(key Key) {
	i := e.leafOf(key)
	if i == len(e.leaves) {
		return
	}
	j, found := e.leaves[i].find(key)
	if !found {
		return
	}
	l := e.own(i)
	entry := l.entries[j]
	doc := l.delete(j)
	for _, t := range entry.terms {
		e.terms.remove(t, doc, e.epoch)
	}
	e.size--
	if len(l.entries) == 0 {
		e.deleteLeaf(i)
		return
	}
	e.merge(i)
}

// merge moves the entries of leaf i into the next or the previous leaf and deletes leaf i, if
// leaf i is small and the other leaf has space for the entries.
func (e *edit) merge(i int) {
	n := len(e.leaves[i].entries)
	fits := func(j int) bool {
		return j >= 0 && j < len(e.leaves) && n+len(e.leaves[j].entries) <= leafCapacity/2
	}
	switch {
	case n > leafCapacity/4:
		return
	case fits(i + 1):
		from := e.own(i)
		to := e.own(i + 1)
		for len(from.entries) > 0 {
			e.move(from, len(from.entries)-1, to, 0)
		}
	case fits(i - 1):
		from := e.own(i)
		to := e.own(i - 1)
		for len(from.entries) > 0 {
			e.move(from, 0, to, len(to.entries))
		}
	default:
		return
	}
	e.deleteLeaf(i)
}
