// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "slices"

const (
	// A search by words and by similarity merges the first wordsDepth agents of the ranking by words with the
	// first similarDepth agents of the ranking by similarity, which is bounded because every agent is similar to
	// some degree.
	wordsDepth, similarDepth = 400, 20
	// fusionConstant is the constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009).
	fusionConstant = 60
)

// deep returns the query for the first wordsDepth agents, from which fuse makes each page.
func (q *Query) deep() *Query {
	deep := *q
	deep.after, deep.limit = position{}, wordsDepth-1 // best returns one more
	return &deep
}

// fuse sets the entries of a page by reciprocal rank fusion of byWords, the entries that the words find, best first,
// with the entries in allowed that are most similar.
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

// mostSimilar returns the entries of sets that are most similar to a query, best first.
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
