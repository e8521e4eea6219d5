// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// maxPageBytes bounds the entries of a page with more than one entry, in bytes. The size of
// a sidecar configuration bounds a single entry.
const maxPageBytes = 4 << 20

// Page is one page of matches.
type Page struct {
	Entries []*Entry
	// Total is the number of matches on all pages.
	Total int
	// Scores has the score of each of Entries, from 0 to 1, if the search is ranked. In a
	// ranking by words, an agent that repeats all words of the query many times approaches 1.
	Scores []float64
	// More is true if matches follow the last of Entries.
	More bool
	// positions has the position of each of Entries if the search is ranked.
	positions []position
	// size is the sum of the sizes of the bodies of Entries.
	size     int
	revision Revision
}

// Score returns the score of entry i of the page, 0 if the search is not ranked.
func (p *Page) Score(i int) float64 {
	if p.Scores == nil {
		return 0
	}
	return p.Scores[i]
}

// CursorAfter returns the cursor of the entries after entry i of the page.
func (p *Page) CursorAfter(i int) string {
	if p.positions != nil {
		return p.positions[i].cursor()
	}
	return position{Key: p.Entries[i].Key}.cursor()
}

// NextCursor returns the cursor of the next page, "" on the last one.
func (p *Page) NextCursor() string {
	if !p.More {
		return ""
	}
	return p.CursorAfter(len(p.Entries) - 1)
}

// ETag returns a weak validator. It depends on all of the body except for the revision.
func (p *Page) ETag() string {
	names := make([]byte, 0, 8*len(p.Entries)+128)
	for _, e := range p.Entries {
		names = append(names, e.digest[:]...)
	}
	sum := sha256.Sum256(append(names, p.tail()...))
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}

// Size returns the bytes that AppendBody appends, without the head and the tail of the page.
func (p *Page) Size() int { return p.size + len(p.Entries) }

// AppendBody appends the page as JSON.
func (p *Page) AppendBody(to []byte) []byte {
	const head = `{"items":[`
	tail := p.tail() + `,"revision":"` + p.revision.String() + "\"}\n"
	to = append(slices.Grow(to, len(head)+p.Size()+len(tail)), head...)
	for i, e := range p.Entries {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, e.body...)
	}
	return append(to, tail...)
}

// tail returns the JSON after the items, without the revision.
func (p *Page) tail() string {
	return `],"nextCursor":"` + p.NextCursor() + `","total":` + strconv.Itoa(p.Total)
}

// rankedEntry is an entry that a ranked search found.
type rankedEntry struct {
	*Entry
	at position
}

// fillRanked sets the entries of the page to the first of best, at most limit. It divides
// their scores by maximum.
func (p *Page) fillRanked(best []rankedEntry, limit int, maximum float64) {
	for n, e := range best {
		if n == limit || n > 0 && p.size+len(e.body) > maxPageBytes {
			p.More = true
			return
		}
		p.Entries = append(p.Entries, e.Entry)
		p.Scores = append(p.Scores, e.at.score/maximum)
		p.positions = append(p.positions, e.at)
		p.size += len(e.body)
	}
}
