// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"iter"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Search returns the page of a query: entries after its cursor that have all its
// terms, ranked or in the order of their keys, and at least one entry if there is any.
// The result has entries that the caller sees; a nil caller sees all.
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

// fill appends to the page the entries after a key: all, or those in sets if not nil.
func (s *Snapshot) fill(page *Page, after Key, limit int, sets []set) {
	for _, l := range s.leaves[s.leafOf(after):] {
		if sets != nil && sets[l.number].empty() {
			continue
		}
		for i, e := range l.entries {
			if sets != nil && !sets[l.number].has(l.slots[i]) || e.Key.compare(after) <= 0 {
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

// Matching yields all entries that match a query, whatever its cursor and limit, in the
// order of their keys, and that the caller sees; a nil caller sees all.
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
