// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "slices"

// The dictionary consists of pages of buckets. The first pageBits of a term select its page,
// and the next bucketBits its bucket.
const (
	pageBits   = 6
	bucketBits = 6
)

// dictionary maps terms to postings. An edit copies the pages, buckets and postings that it
// changes. Those of another epoch are shared with earlier snapshots and immutable.
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

// termSlot has the documents of a term: posting if it is not nil, else the document only.
type termSlot struct {
	term    term
	posting *posting
	only    document
}

func placeOf(t term) (pageNumber, bucketNumber int) {
	return int(t >> (64 - pageBits)), int(t >> (64 - pageBits - bucketBits) & (1<<bucketBits - 1))
}

// find returns a cursor over the documents of a term. If the term has one document, the cursor
// refers to space, where find stores the document.
func (d *dictionary) find(t term, space *[1]document) cursor {
	i, j := placeOf(t)
	p := d.pages[i]
	if p == nil || p.buckets[j] == nil {
		return cursor{}
	}
	slots := p.buckets[j].slots
	for k := range slots {
		if slots[k].term != t {
			continue
		}
		if found := slots[k].posting; found != nil {
			return cursor{docs: found.docs, chunks: found.chunks, count: found.count}
		}
		space[0] = slots[k].only
		return cursor{docs: space[:], count: 1}
	}
	return cursor{}
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
