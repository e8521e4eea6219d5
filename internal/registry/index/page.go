// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// maxPageBytes bounds the size of the entries on a page, in bytes. A page with only one entry may
// exceed it. The size of an entry is bounded by the size of a sidecar configuration.
const maxPageBytes = 4 << 20

// Page is one page of matches.
type Page struct {
	Entries []*Entry
	// Total is the number of matches on all pages.
	Total int
	// More is true if matches follow the last of Entries.
	More bool
	// Corrections has the words of the query in whose place similar words find agents.
	Corrections []Correction
	// ranked is nil if the search is not ranked. Otherwise, it begins with Entries and their scores, and maximum is
	// an upper bound of the scores.
	ranked  []rankedEntry
	maximum float64
	// space is the memory of Entries. It is nil if the search is ranked.
	space *pageSpace
	// size is the sum of the sizes of the bodies of Entries.
	size     int
	revision Revision
}

// pageSpace is reusable memory for the entries of a page.
type pageSpace [maxLimit]*Entry

var pageSpaces = sync.Pool{New: func() any { return &pageSpace{} }}

// Release returns the memory of Entries for later searches. The caller must not use the page any more. A caller may
// omit Release: the garbage collector then frees the memory.
func (p *Page) Release() {
	if p.space == nil {
		return
	}
	clear(p.space[:])
	pageSpaces.Put(p.space)
	*p = Page{}
}

// Score returns the score of entry i of the page, from 0 to 1. It is 0 if the search is not ranked.
// In a ranking by words, a score near 1 means that the agent repeats all words of the query many
// times.
func (p *Page) Score(i int) float64 {
	if p.ranked == nil {
		return 0
	}
	return p.ranked[i].score / p.maximum
}

// CursorAfter returns the cursor for the results after entry i of the page.
func (p *Page) CursorAfter(i int) string { return p.positionOf(i).cursor() }

func (p *Page) positionOf(i int) position {
	if p.ranked != nil {
		return p.ranked[i].at()
	}
	return position{Key: p.Entries[i].Key}
}

// NextCursor returns the cursor of the next page, "" on the last one.
func (p *Page) NextCursor() string {
	if !p.More {
		return ""
	}
	return p.CursorAfter(len(p.Entries) - 1)
}

// ETag returns a weak validator. It depends on the whole body except the revision.
func (p *Page) ETag() string {
	var space [maxLimit*len(Entry{}.digest) + maxTail]byte // on the stack
	names := space[:0]
	for _, e := range p.Entries {
		names = append(names, e.digest[:]...)
	}
	sum := sha256.Sum256(p.appendTail(names))
	etag := append(make([]byte, 0, 24), `W/"`...)
	return string(append(hex.AppendEncode(etag, sum[:8]), '"'))
}

// Size returns an upper bound of the size of the items in the body, including the commas between
// them, in bytes.
func (p *Page) Size() int { return p.size + len(p.Entries) }

// AppendBody appends the page as JSON.
func (p *Page) AppendBody(to []byte) []byte {
	const head = `{"items":[`
	to = append(slices.Grow(to, len(head)+p.Size()+maxTail+maxRevision), head...)
	for i, e := range p.Entries {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, e.body...)
	}
	to = append(p.appendTail(to), `,"revision":"`...)
	return append(p.revision.Append(to), "\"}\n"...)
}

// maxTail bounds the size of the JSON that appendTail appends, in bytes. maxRevision bounds the
// size of the JSON of the revision.
const (
	maxTail     = 320
	maxRevision = 64
)

// appendTail appends the JSON that follows the items, except the revision.
func (p *Page) appendTail(to []byte) []byte {
	to = append(to, `],"nextCursor":"`...)
	if p.More {
		to = p.positionOf(len(p.Entries) - 1).appendCursor(to)
	}
	to = append(to, `","total":`...)
	to = strconv.AppendInt(to, int64(p.Total), 10)
	if len(p.Corrections) > 0 {
		corrections, _ := plainjson.Marshal(p.Corrections) // strings have a JSON form
		to = append(append(to, `,"corrections":`...), corrections...)
	}
	return to
}

// fill appends the entries among found of a block that come after a key, up to the limits of a page.
func (p *Page) fill(b *block, found set, after Key, limit int) {
	if p.More || b.last().compare(after) <= 0 {
		return
	}
	for i := range found.all() {
		e := b.entries[i]
		if e.Key.compare(after) <= 0 {
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

// fillRanked fills the page with the first entries of best: at most limit entries, and at most
// maxPageBytes except for the first entry. maximum is an upper bound of their scores.
func (p *Page) fillRanked(best []rankedEntry, limit int, maximum float64) {
	size := min(len(best), limit)
	p.Entries = make([]*Entry, 0, size)
	p.ranked = best
	p.maximum = maximum
	for n, e := range best {
		if n == limit || n > 0 && p.size+len(e.body) > maxPageBytes {
			p.More = true
			return
		}
		p.Entries = append(p.Entries, e.Entry)
		p.size += len(e.body)
	}
}
