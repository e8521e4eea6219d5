// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// document identifies an entry by the number of its leaf and its slot there. It stays the
// same while the entry is in that leaf.
type document uint32

func documentAt(leaf uint32, slot uint8) document { return document(leaf<<8 | uint32(slot)) }

func (d document) leaf() uint32 { return uint32(d) >> 8 }
func (d document) slot() uint8  { return uint8(d) } //nolint:gosec // the low byte

// Thresholds of postings. A sparse posting is checked when the number of its documents reaches a
// multiple of denseFrom. It becomes dense if it has at least denseShare documents in each of its
// leaves on average: a set then uses less memory than a list. A dense posting becomes sparse again
// below sparseShare documents in each leaf on average.
const (
	denseFrom   = 256
	denseShare  = 10
	sparseShare = 5
)

// posting has the documents of a term in ascending order: as the list docs if each leaf has
// few of them (sparse), else as chunks with one set for each leaf (dense). Only the edit with the
// same epoch may change it.
type posting struct {
	epoch  uint64
	count  int
	docs   []document
	chunks []chunk
}

// chunk has the documents of a posting that are in one leaf.
type chunk struct {
	leaf uint32
	set  set
}

func compareChunk(c chunk, leaf uint32) int { return cmp.Compare(c.leaf, leaf) }

func (p *posting) clone(epoch uint64) *posting {
	next := &posting{epoch: epoch, count: p.count}
	if p.chunks != nil {
		next.chunks = append(make([]chunk, 0, len(p.chunks)+1), p.chunks...)
	} else {
		next.docs = append(make([]document, 0, len(p.docs)+len(p.docs)/8+1), p.docs...)
	}
	return next
}

// add inserts a document. The document must not be in the posting.
func (p *posting) add(d document) {
	p.count++
	if p.chunks == nil {
		if n := len(p.docs); n == 0 || p.docs[n-1] < d { // the usual case while the index is built
			p.docs = append(p.docs, d)
		} else {
			i, _ := slices.BinarySearch(p.docs, d)
			p.docs = slices.Insert(p.docs, i, d)
		}
		if len(p.docs) >= denseFrom && len(p.docs)%denseFrom == 0 {
			p.makeDense()
		}
		return
	}
	if n := len(p.chunks); n > 0 && p.chunks[n-1].leaf == d.leaf() { // usual while the index is built, too
		p.chunks[n-1].set.add(d.slot())
		return
	}
	i, found := slices.BinarySearchFunc(p.chunks, d.leaf(), compareChunk)
	if !found {
		p.chunks = slices.Insert(p.chunks, i, chunk{leaf: d.leaf()})
	}
	p.chunks[i].set.add(d.slot())
}

// remove deletes a document. The document must be in the posting.
func (p *posting) remove(d document) {
	p.count--
	if p.chunks == nil {
		if i, found := slices.BinarySearch(p.docs, d); found {
			p.docs = slices.Delete(p.docs, i, i+1)
		}
		return
	}
	if i, found := slices.BinarySearchFunc(p.chunks, d.leaf(), compareChunk); found {
		p.chunks[i].set.remove(d.slot())
		if p.chunks[i].set.empty() {
			p.chunks = slices.Delete(p.chunks, i, i+1)
		}
	}
	if p.count < sparseShare*len(p.chunks) {
		p.makeSparse()
	}
}

func (p *posting) makeDense() {
	leaves := 0
	for i, d := range p.docs {
		if i == 0 || d.leaf() != p.docs[i-1].leaf() {
			leaves++
		}
	}
	if len(p.docs) < denseShare*leaves {
		return
	}
	chunks := make([]chunk, 0, leaves+1)
	for _, d := range p.docs {
		if n := len(chunks); n == 0 || chunks[n-1].leaf != d.leaf() {
			chunks = append(chunks, chunk{leaf: d.leaf()})
		}
		chunks[len(chunks)-1].set.add(d.slot())
	}
	p.docs, p.chunks = nil, chunks
}

func (p *posting) makeSparse() {
	docs := make([]document, 0, p.count)
	for i := range p.chunks {
		for slot := range leafCapacity {
			if s := uint8(slot); p.chunks[i].set.has(s) {
				docs = append(docs, documentAt(p.chunks[i].leaf, s))
			}
		}
	}
	p.docs, p.chunks = docs, nil
}

// iterator iterates over a posting in the order of the numbers of leaves.
type iterator struct {
	docs   []document
	chunks []chunk
	count  int
}

// next returns the number of the next leaf, and the documents of the posting in this leaf. ok is
// false at the end.
func (c *iterator) next() (leaf uint32, found set, ok bool) {
	if len(c.chunks) > 0 {
		first := &c.chunks[0]
		c.chunks = c.chunks[1:]
		return first.leaf, first.set, true
	}
	if len(c.docs) == 0 {
		return 0, set{}, false
	}
	leaf = c.docs[0].leaf()
	c.take(leaf, &found)
	return leaf, found, true
}

// take moves the documents at the start of the list that are in the given leaf to found.
func (c *iterator) take(leaf uint32, found *set) {
	n := 0
	for n < len(c.docs) && c.docs[n].leaf() == leaf {
		found.add(c.docs[n].slot())
		n++
	}
	c.docs = c.docs[n:]
}

// intersect removes from found, a set of documents of a leaf, the documents that the posting
// does not have. Calls must be in the order of the numbers of leaves.
func (c *iterator) intersect(leaf uint32, found *set) {
	if len(c.chunks) > 0 {
		if first := c.chunks[0].leaf; first < leaf {
			// The chunks have different leaf numbers in ascending order, so the chunk with the
			// number leaf has at most the index leaf-first. It has this index if every leaf number
			// in between has a chunk.
			last := min(int(leaf-first), len(c.chunks)-1)
			if c.chunks[last].leaf != leaf {
				last, _ = slices.BinarySearchFunc(c.chunks[:last+1], leaf, compareChunk)
			}
			c.chunks = c.chunks[last:]
		}
		if len(c.chunks) > 0 && c.chunks[0].leaf == leaf {
			found.and(&c.chunks[0].set)
			return
		}
		*found = set{}
		return
	}
	if len(c.docs) > 0 && c.docs[0].leaf() < leaf {
		i, _ := slices.BinarySearch(c.docs, documentAt(leaf, 0))
		c.docs = c.docs[i:]
	}
	var own set
	c.take(leaf, &own)
	found.and(&own)
}

// The dictionary consists of pages of buckets. The first pageBits of a term select its page,
// and the next bucketBits its bucket.
const (
	pageBits   = 6
	bucketBits = 6
)

// dictionary maps terms to postings (inverted index). An edit copies the pages, buckets and
// postings that it changes (copy-on-write). Pages, buckets and postings of another epoch are shared
// with earlier snapshots and immutable.
type dictionary struct {
	pages [1 << pageBits]*page
	terms int
}

type page struct {
	epoch   uint64
	buckets [1 << bucketBits]*bucket
}

type bucket struct {
	epoch uint64
	slots []termSlot
}

// termSlot has the documents of a term: the documents of posting or, if posting is nil, the one
// document in the field only.
type termSlot struct {
	term    term
	posting *posting
	only    document
}

func placeOf(t term) (pageNumber, bucketNumber int) {
	return int(t >> (64 - pageBits)), int(t >> (64 - pageBits - bucketBits) & (1<<bucketBits - 1))
}

// find returns an iterator over the documents of a term. The iterator is empty for an unknown term.
// If the term has one document, the iterator refers to space, where find stores the document.
func (d *dictionary) find(t term, space *[1]document) iterator {
	i, j := placeOf(t)
	p := d.pages[i]
	if p == nil || p.buckets[j] == nil {
		return iterator{}
	}
	slots := p.buckets[j].slots
	for k := range slots {
		if slots[k].term != t {
			continue
		}
		if found := slots[k].posting; found != nil {
			return iterator{docs: found.docs, chunks: found.chunks, count: found.count}
		}
		space[0] = slots[k].only
		return iterator{docs: space[:], count: 1}
	}
	return iterator{}
}

// own returns the bucket of a term, which the edit of the epoch may change. It copies a page
// or bucket of another epoch.
func (d *dictionary) own(t term, epoch uint64) *bucket {
	i, j := placeOf(t)
	switch p := d.pages[i]; {
	case p == nil:
		d.pages[i] = &page{epoch: epoch}
	case p.epoch != epoch:
		next := *p
		next.epoch = epoch
		d.pages[i] = &next
	}
	p := d.pages[i]
	switch b := p.buckets[j]; {
	case b == nil:
		p.buckets[j] = &bucket{epoch: epoch}
	case b.epoch != epoch:
		p.buckets[j] = &bucket{epoch: epoch, slots: append(make([]termSlot, 0, len(b.slots)+1), b.slots...)}
	}
	return p.buckets[j]
}

func (b *bucket) indexOf(t term) int {
	return slices.IndexFunc(b.slots, func(s termSlot) bool { return s.term == t })
}

// add adds a document to a term. The document must not have the term yet.
func (d *dictionary) add(t term, doc document, epoch uint64) {
	b := d.own(t, epoch)
	i := b.indexOf(t)
	if i < 0 {
		d.terms++
		b.slots = append(b.slots, termSlot{term: t, only: doc})
		return
	}
	s := &b.slots[i]
	switch {
	case s.posting == nil:
		s.posting = &posting{epoch: epoch, count: 1, docs: []document{s.only}}
	case s.posting.epoch != epoch:
		s.posting = s.posting.clone(epoch)
	}
	s.posting.add(doc)
}

// remove removes a document from a term. The document must have the term.
func (d *dictionary) remove(t term, doc document, epoch uint64) {
	b := d.own(t, epoch)
	i := b.indexOf(t)
	if i < 0 {
		return
	}
	s := &b.slots[i]
	if s.posting == nil {
		d.terms--
		b.slots[i] = b.slots[len(b.slots)-1]
		b.slots = b.slots[:len(b.slots)-1]
		return
	}
	if s.posting.epoch != epoch {
		s.posting = s.posting.clone(epoch)
	}
	s.posting.remove(doc)
	if s.posting.count == 1 && s.posting.chunks == nil {
		s.only, s.posting = s.posting.docs[0], nil
	}
}
