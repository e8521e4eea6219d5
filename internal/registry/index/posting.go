// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// document identifies an entry by the number of its leaf and its slot in the leaf. It changes only
// if the entry moves to another leaf.
type document uint32

func documentAt(leaf uint32, slot uint8) document { return document(leaf<<8 | uint32(slot)) }

func (d document) leaf() uint32 { return uint32(d) >> 8 }
func (d document) slot() uint8  { return uint8(d) } //nolint:gosec // the low byte

// Thresholds of postings. When the number of documents of a sparse posting reaches a multiple of
// denseFrom, the posting becomes dense if its leaves have at least denseShare of these documents on
// average. A set for each leaf then uses less memory than a list. A dense posting becomes sparse
// again if its leaves have fewer than sparseShare of its documents on average.
const (
	denseFrom   = 256
	denseShare  = 10
	sparseShare = 5
)

// posting has the documents of a term in ascending order. A sparse posting, with few documents in
// each leaf, has the list docs. A dense one has chunks instead. Only the edit with the same epoch
// may change a posting.
type posting struct {
	epoch  uint64
	count  int
	docs   []document
	chunks []chunk
}

// chunk has the documents of a dense posting that are in one leaf.
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
		if n := len(p.docs); n == 0 || p.docs[n-1] < d { // usual while the index is built
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
	if n := len(p.chunks); n > 0 && p.chunks[n-1].leaf == d.leaf() { // usual while the index is built
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
	p.docs = nil
	p.chunks = chunks
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
	p.docs = docs
	p.chunks = nil
}

// iterator iterates over the documents of a posting, leaf by leaf, in the order of the numbers of
// the leaves.
type iterator struct {
	docs   []document
	chunks []chunk
	count  int
}

// next returns the number of the next leaf with documents of the posting, and the slots of these
// documents. ok is false at the end.
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

// take moves the documents in the given leaf from the start of the list to found.
func (c *iterator) take(leaf uint32, found *set) {
	n := 0
	for n < len(c.docs) && c.docs[n].leaf() == leaf {
		found.add(c.docs[n].slot())
		n++
	}
	c.docs = c.docs[n:]
}

// intersect removes from found, a set of slots of the given leaf, the documents that are not in the
// posting. The caller must call it for leaves in the order of their numbers.
func (c *iterator) intersect(leaf uint32, found *set) {
	if len(c.chunks) > 0 {
		if first := c.chunks[0].leaf; first < leaf {
			// The leaf numbers of the chunks ascend, so the chunk of the given leaf is at most at
			// the index leaf-first. It is exactly at this index if every leaf number from first to
			// leaf has a chunk.
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

// The dictionary consists of pages, which consist of buckets. The first pageBits bits of a term
// select the page, and the next bucketBits bits select the bucket.
const (
	pageBits   = 6
	bucketBits = 6
)

// dictionary maps terms to postings (inverted index). An edit copies the pages, buckets and
// postings that it changes (copy-on-write). Those with another epoch are immutable, because earlier
// snapshots share them.
type dictionary struct {
	pages [1 << pageBits]*page
	terms int
	// copied is about how many bytes the last edit has copied.
	copied int
}

// The sizes of a termSlot, a document and a chunk, in bytes. A page and a posting have as many bytes as pageBytes.
const (
	slotBytes     = 24
	documentBytes = 4
	chunkBytes    = 40
	pageBytes     = 8 << bucketBits
)

type page struct {
	epoch   uint64
	buckets [1 << bucketBits]*bucket
}

type bucket struct {
	epoch uint64
	slots []termSlot
}

// termSlot has the documents of a term: those of posting or, if posting is nil, the one document
// only.
type termSlot struct {
	term    term
	posting *posting
	only    document
}

func placeOf(t term) (pageNumber, bucketNumber int) {
	return int(t >> (64 - pageBits)), int(t >> (64 - pageBits - bucketBits) & (1<<bucketBits - 1))
}

// find returns an iterator over the documents of a term. For an unknown term, the iterator is
// empty. For a term with one document, find stores the document in space, to which the iterator
// then refers.
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

// own returns the bucket of a term for a change by the edit with the given epoch. If the page or
// the bucket has another epoch, own first replaces it by a copy.
func (d *dictionary) own(t term, epoch uint64) *bucket {
	i, j := placeOf(t)
	switch p := d.pages[i]; {
	case p == nil:
		d.pages[i] = &page{epoch: epoch}
	case p.epoch != epoch:
		next := *p
		next.epoch = epoch
		d.pages[i] = &next
		d.copied += pageBytes
	}
	p := d.pages[i]
	switch b := p.buckets[j]; {
	case b == nil:
		p.buckets[j] = &bucket{epoch: epoch}
	case b.epoch != epoch:
		p.buckets[j] = &bucket{epoch: epoch, slots: append(make([]termSlot, 0, len(b.slots)+1), b.slots...)}
		d.copied += len(b.slots) * slotBytes
	}
	return p.buckets[j]
}

// clone replaces the posting of a slot by a copy.
func (d *dictionary) clone(s *termSlot, epoch uint64) {
	s.posting = s.posting.clone(epoch)
	d.copied += len(s.posting.docs)*documentBytes + len(s.posting.chunks)*chunkBytes
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
		d.clone(s, epoch)
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
		d.clone(s, epoch)
	}
	s.posting.remove(doc)
	if s.posting.count == 1 && s.posting.chunks == nil {
		s.only = s.posting.docs[0]
		s.posting = nil
	}
}
