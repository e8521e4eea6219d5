// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Search returns the page of a query, ranked or in the order of keys. The page has the entries that
// match the filters of the query, that the caller sees, and that come after the cursor of the
// query. It has at least one entry if any entry meets these conditions. If caller is nil, all
// entries are visible.
func (s *Snapshot) Search(q *Query, caller *access.Set) Page {
	if q.isRanked() {
		r := s.ranking(q, caller)
		defer r.release()
		return s.rank(r, q, caller, q.after)
	}
	return s.search(q.hashes, caller, q.after.Key, q.limit)
}

// Pages yields the page that Search returns, and then those that follow it until the last one. It ranks the entries only
// once.
func (s *Snapshot) Pages(q *Query, caller *access.Set) iter.Seq[Page] {
	return func(yield func(Page) bool) {
		after := q.after
		next := func() Page { return s.search(q.hashes, caller, after.Key, q.limit) }
		if q.isRanked() {
			r := s.ranking(q, caller)
			defer r.release()
			next = func() Page { return s.rank(r, q, caller, after) }
		}
		for more := true; more; {
			page := next()
			more = page.More
			if more {
				after = page.positionOf(len(page.Entries) - 1)
			}
			if !yield(page) {
				return
			}
		}
	}
}

func (s *Snapshot) search(terms []term, caller *access.Set, after Key, limit int) Page {
	page := Page{revision: s.revision, space: pageSpaces.Get().(*pageSpace)}
	page.Entries = page.space[:0]
	if len(terms) == 0 && (caller == nil || caller.All()) { // nothing needs to be counted
		page.Total = s.size
		for i := s.blockOf(after); i < len(s.blocks) && !page.More; i++ {
			page.fill(s.blocks[i], s.blocks[i].visibleTo(nil), after, limit)
		}
		return page
	}
	for b, found := range s.scan(terms, caller) {
		page.Total += found.count()
		page.fill(b, found, after, limit)
	}
	return page
}

// Matching yields all entries that match a query and that the caller sees, in the order of keys. It
// ignores the cursor and the limit of the query. If caller is nil, all entries are visible.
func (s *Snapshot) Matching(q *Query, caller *access.Set) iter.Seq[*Entry] {
	if !q.isRanked() {
		return s.entries(q.hashes, caller)
	}
	return func(yield func(*Entry) bool) {
		r := s.ranking(q, caller)
		defer r.release()
		r.entries()(yield)
	}
}

// entries yields the entries that have all terms and that the caller sees, in the order of keys.
func (s *Snapshot) entries(terms []term, caller *access.Set) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for b, found := range s.scan(terms, caller) {
			for i := range found.all() {
				if !yield(b.entries[i]) {
					return
				}
			}
		}
	}
}

// rank returns the page of a ranked query after a position. The scores depend only on entries that match the filters
// of the query and that the caller sees. They therefore reveal nothing about other entries.
func (s *Snapshot) rank(r *ranking, q *Query, caller *access.Set, after position) Page {
	page := Page{revision: s.revision, Total: r.total, Corrections: r.corrections}
	if q.nearest == nil {
		page.fillRanked(r.best(after, q.limit), q.limit, r.limit())
		return page
	}
	// best returns one entry more than the limit.
	s.fuse(&page, q, after, r.best(position{}, wordsDepth-1), s.entries(q.hashes, caller))
	return page
}

const (
	// A search by words and by similarity merges two rankings: the first wordsDepth agents by words, and the first
	// similarDepth agents by similarity. similarDepth is low, because every agent is similar to a query to some
	// degree.
	wordsDepth, similarDepth = 400, 20
	// fusionConstant is the constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009).
	fusionConstant = 60
)

// fuse fills a page after a position by reciprocal rank fusion of two rankings: byWords, which has the entries that the words find, and
// the entries in allowed that are most similar to the query. It needs the first wordsDepth entries for each page.
func (s *Snapshot) fuse(page *Page, q *Query, after position, byWords []rankedEntry, allowed iter.Seq[*Entry]) {
	fused := make(map[Key]rankedEntry, len(byWords)+similarDepth)
	for _, ranking := range [][]rankedEntry{byWords, s.mostSimilar(q.nearest, allowed)} {
		for rank, e := range ranking {
			f, found := fused[e.Key]
			if !found {
				f.Entry = e.Entry
			}
			f.score += 1 / float64(fusionConstant+rank+1)
			fused[e.Key] = f
		}
	}
	page.Total = len(fused)
	best := make([]rankedEntry, 0, len(fused))
	for _, e := range fused {
		if !after.ranked || e.at().compare(after) > 0 {
			best = append(best, e)
		}
	}
	slices.SortFunc(best, rankedEntry.compare)
	page.fillRanked(best, q.limit, 2/float64(fusionConstant+1))
}

// mostSimilar returns the entries in allowed that are most similar to a query, the most similar one
// first.
func (s *Snapshot) mostSimilar(nearest Nearest, allowed iter.Seq[*Entry]) []rankedEntry {
	keys := nearest(func(yield func(Key) bool) {
		for e := range allowed {
			if !yield(e.Key) {
				return
			}
		}
	}, similarDepth)
	similar := make([]rankedEntry, 0, len(keys))
	for _, key := range keys {
		similar = append(similar, rankedEntry{Entry: s.Get(key)})
	}
	return similar
}
