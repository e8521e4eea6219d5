// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Search returns the page of a query: entries after the cursor of the query that have all
// its terms and that the caller sees, ranked or in the order of their keys. A nil caller
// sees all entries. The page has at least one entry if any follows the cursor.
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

// fill appends the entries after a key to the page, up to its limits. If sets is not nil, it
// appends only entries in sets.
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
			// Only the first leaf has entries that are not after the key.
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

// Matching yields all entries that match a query and that the caller sees, in the order of
// their keys. It ignores the cursor and the limit of the query. A nil caller sees all entries.
func (s *Snapshot) Matching(q *Query, caller *access.Set) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		matches := newMatches(int(s.leafNumbers))
		defer matches.release()
		documents := s.match(hashTerms(q.terms), caller, matches.sets)
		if q.isRanked() {
			groups := s.groups(q.ranked, matches.sets)
			clear(matches.sets)
			unite(groups, documents, matches.sets)
			release(groups)
		}
		s.in(matches.sets)(yield)
	}
}
