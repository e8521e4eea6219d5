// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// A word that more than one in commonShare of the documents have, if there are more
// than commonFrom, adds to scores but makes no match, unless all words of the query are
// such. This bounds the work for a query of frequent words.
const (
	commonFrom  = 1000
	commonShare = 4
)

// rankedForm is a form of a word of a query, with the documents that have it.
type rankedForm struct {
	term   term
	boost  float64
	weight float64
	found  *matches
	count  int
}

// rank returns the page of a ranked query. Scores depend only on entries that match
// the conditions of the query and that the caller sees: they tell it nothing about others.
func (s *Snapshot) rank(q *Query, caller *access.Set) Page {
	page := Page{revision: s.revision}
	allowed := newMatches(int(s.leafNumbers))
	defer allowed.release()
	statistics := text.Statistics{Documents: s.match(q.hashes, caller, allowed.sets)}
	groups := s.groups(q.ranked, allowed.sets)
	found := newMatches(int(s.leafNumbers))
	defer found.release()
	unite(groups, statistics.Documents, found.sets)
	release(groups)
	for _, group := range groups {
		for i := range group {
			group[i].weight = statistics.Weight(group[i].count) * group[i].boost
		}
	}
	for e := range s.in(found.sets) {
		page.Total++
		statistics.MeanLength += float64(e.length)
	}
	if page.Total > 0 {
		statistics.MeanLength /= float64(page.Total)
	}
	if q.nearest != nil {
		s.fuse(&page, q, s.best(q.deep(), groups, statistics, found.sets), allowed.sets)
		return page
	}
	page.fillRanked(s.best(q, groups, statistics, found.sets), q.limit, limitOf(groups, statistics))
	return page
}

func release(groups [][]rankedForm) {
	for _, group := range groups {
		for i := range group {
			group[i].found.release()
		}
	}
}

// groups returns, for each group of a query, the forms that entries in allowed have.
func (s *Snapshot) groups(q text.Query, allowed []set) [][]rankedForm {
	groups := make([][]rankedForm, 0, len(q.Groups))
	for _, group := range q.Groups {
		forms := make([]rankedForm, 0, len(group))
		for _, f := range group {
			form := rankedForm{term: hashTerm(wordTerm(f.Text)), boost: f.Boost}
			var space [1]document
			cursor := s.terms.find(form.term, &space)
			if cursor.count == 0 {
				continue
			}
			form.found = newMatches(len(allowed))
			for number, documents, ok := cursor.next(); ok; number, documents, ok = cursor.next() {
				documents.and(&allowed[number])
				form.found.sets[number] = documents
				form.count += documents.count()
			}
			if form.count == 0 { // other entries have it, which must not show
				form.found.release()
				continue
			}
			forms = append(forms, form)
		}
		groups = append(groups, forms)
	}
	return groups
}

// unite adds the documents of the groups to found, without those of common words
// unless all words are common.
func unite(groups [][]rankedForm, documents int, found []set) {
	isCommon := func(f rankedForm) bool { return documents > commonFrom && f.count > documents/commonShare }
	isRare := func(f rankedForm) bool { return f.count > 0 && !isCommon(f) }
	rare := slices.ContainsFunc(groups, func(group []rankedForm) bool {
		return slices.ContainsFunc(group, isRare) && !slices.ContainsFunc(group, isCommon)
	})
	for _, group := range groups {
		if rare && slices.ContainsFunc(group, isCommon) {
			continue
		}
		for i := range group {
			for number := range found {
				found[number].or(&group[i].found.sets[number])
			}
		}
	}
}

// best returns the entries of sets with the highest scores after the cursor of the
// query: one more than its limit, if there are so many.
func (s *Snapshot) best(q *Query, groups [][]rankedForm, statistics text.Statistics, sets []set) []rankedEntry {
	best := make([]rankedEntry, 0, q.limit+1)
	for e := range s.in(sets) {
		at := position{Key: e.Key, ranked: true, score: score(e, groups, statistics)}
		if q.after.ranked && at.compare(q.after) <= 0 {
			continue
		}
		if len(best) == cap(best) {
			if at.compare(best[len(best)-1].at) >= 0 {
				continue
			}
			best = best[:len(best)-1]
		}
		i, _ := slices.BinarySearchFunc(best, at, func(e rankedEntry, p position) int { return e.at.compare(p) })
		best = slices.Insert(best, i, rankedEntry{Entry: e, at: at})
	}
	return best
}

// score adds up what each group adds to the score of an entry: that of its best form.
func score(e *Entry, groups [][]rankedForm, statistics text.Statistics) float64 {
	sum := 0.0
	for _, group := range groups {
		best := 0.0
		for i := range group {
			best = max(best, statistics.Score(group[i].weight, e.frequency(group[i].term), e.length))
		}
		sum += best
	}
	return sum
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
