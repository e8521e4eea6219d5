// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// Search returns the page of a query, ranked or in the order of keys. The page has the entries that
// match the filters of the query, that the caller sees, and that come after the cursor of the
// query. It has at least one entry if any entry meets these conditions. If caller is nil, all
// entries are visible.
func (s *Snapshot) Search(q *Query, caller *access.Set) Page {
	if q.isRanked() {
		return s.rank(q, caller)
	}
	return s.search(q.hashes, caller, q.after.Key, q.limit)
}

func (s *Snapshot) search(terms []term, caller *access.Set, after Key, limit int) Page {
	page := Page{revision: s.revision}
	if len(terms) == 0 && (caller == nil || caller.All()) {
		page.Total = s.size
		s.fill(&page, after, limit, nil)
		return page
	}
	matches := newMatches(int(s.leafNumbers))
	defer matches.release()
	page.Total = s.match(terms, caller, matches.sets)
	s.fill(&page, after, limit, matches.sets)
	return page
}

// fill appends the entries after a key to the page, up to the limits of a page. If sets is not nil,
// it appends only the entries whose slots are in sets.
func (s *Snapshot) fill(page *Page, after Key, limit int, sets []set) {
	first := 0
	if after != (Key{}) {
		first = s.leafOf(after)
	}
	page.space = pageSpaces.Get().(*pageSpace)
	page.Entries = page.space[:0]
	for i := first; i < len(s.leaves); i++ {
		if sets != nil && sets[s.numbers[i]].empty() {
			continue
		}
		l := s.leaves[i]
		for j, e := range l.entries {
			// Only the first leaf can have entries that are not after the key.
			if sets != nil && !sets[l.number].has(l.slots[j]) || i == first && e.Key.compare(after) <= 0 {
				continue
			}
			if n := len(page.Entries); n == limit || n > 0 && page.size+len(e.body) > maxPageBytes {
				page.More = true
				return
			}
			page.Entries = append(page.Entries, e)
			page.size += len(e.body)
		}
	}
}

// Matching yields all entries that match a query and that the caller sees, in the order of keys. It
// ignores the cursor and the limit of the query. If caller is nil, all entries are visible.
func (s *Snapshot) Matching(q *Query, caller *access.Set) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		matches := newMatches(int(s.leafNumbers))
		defer matches.release()
		documents := s.match(q.hashes, caller, matches.sets)
		if q.isRanked() {
			groups := s.groups(q.ranked, matches.sets)
			clear(matches.sets)
			unite(groups, documents, matches.sets)
			release(groups)
		}
		s.in(matches.sets)(yield)
	}
}

// rank returns the page of a ranked query. The scores depend only on entries that match the filters
// of the query and that the caller sees. They therefore reveal nothing about other entries.
func (s *Snapshot) rank(q *Query, caller *access.Set) Page {
	r := s.ranking(q, caller)
	defer r.release()
	page := Page{revision: s.revision, Total: r.total}
	if q.nearest != nil {
		s.fuse(&page, q, s.best(q.deep(), r), r.allowed.sets)
		return page
	}
	page.fillRanked(s.best(q, r), q.limit, limitOf(r.groups, r.statistics))
	return page
}

// limitOf returns an upper bound of the scores of a query.
func limitOf(groups [][]rankedForm, statistics text.Statistics) float64 {
	sum := 0.0
	for _, group := range groups {
		most := 0.0
		for i := range group {
			most = max(most, group[i].weight)
		}
		sum += statistics.Limit(most)
	}
	return sum
}

const (
	// A search by words and by similarity merges two rankings: the first wordsDepth agents by words, and the first
	// similarDepth agents by similarity. similarDepth is low, because every agent is similar to a query to some
	// degree.
	wordsDepth, similarDepth = 400, 20
	// fusionConstant is the constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009).
	fusionConstant = 60
)

// deep returns a query for the first wordsDepth agents, because fuse needs them for each page.
func (q *Query) deep() *Query {
	deep := *q
	deep.after = position{}
	deep.limit = wordsDepth - 1 // best returns one entry more than the limit
	return &deep
}

// fuse fills a page by reciprocal rank fusion of two rankings: byWords, which has the entries that the words find, and
// the entries in allowed that are most similar to the query.
func (s *Snapshot) fuse(page *Page, q *Query, byWords []rankedEntry, allowed []set) {
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
		if !q.after.ranked || e.at().compare(q.after) > 0 {
			best = append(best, e)
		}
	}
	slices.SortFunc(best, rankedEntry.compare)
	page.fillRanked(best, q.limit, 2/float64(fusionConstant+1))
}

// mostSimilar returns the entries in sets that are most similar to a query, the most similar one
// first.
func (s *Snapshot) mostSimilar(nearest Nearest, sets []set) []rankedEntry {
	keys := nearest(func(yield func(Key) bool) {
		for e := range s.in(sets) {
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
