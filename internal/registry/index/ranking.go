// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// In a search over more than commonFrom documents, a word is common if more than one document
// in commonShare has it. A common word adds to the score of a document, but only the other
// words of the query find documents. If all words of the query are common, each of them finds
// documents. This rule bounds the work for queries of frequent words.
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

// ranking has the data from which the scores of a query are computed.
type ranking struct {
	groups     [][]rankedForm
	statistics text.Statistics
	// allowed has the documents that match the filters of the query and that the caller sees.
	// found has the documents in allowed that have one of the words, and total is the number of
	// documents in found.
	allowed, found *matches
	total          int
}

func (s *Snapshot) ranking(q *Query, caller *access.Set) *ranking {
	r := &ranking{allowed: newMatches(int(s.leafNumbers)), found: newMatches(int(s.leafNumbers))}
	r.statistics.Documents = s.match(q.hashes, caller, r.allowed.sets)
	r.groups = s.groups(q.ranked, r.allowed.sets)
	unite(r.groups, r.statistics.Documents, r.found.sets)
	for _, group := range r.groups {
		for i := range group {
			group[i].weight = r.statistics.Weight(group[i].count) * group[i].boost
		}
	}
	for l, found := range s.leavesIn(r.found.sets) {
		for slot := range found.all {
			r.statistics.MeanLength += float64(l.lengths[slot])
		}
		r.total += found.count()
	}
	if r.total > 0 {
		r.statistics.MeanLength /= float64(r.total)
	}
	return r
}

func (r *ranking) release() {
	r.allowed.release()
	r.found.release()
	release(r.groups)
}

func release(groups [][]rankedForm) {
	for _, group := range groups {
		for i := range group {
			group[i].found.release()
		}
	}
}

// groups returns, for each group of a query, those forms that a document in allowed has.
func (s *Snapshot) groups(q text.Query, allowed []set) [][]rankedForm {
	groups := make([][]rankedForm, 0, len(q.Groups))
	for _, group := range q.Groups {
		forms := make([]rankedForm, 0, len(group))
		for _, f := range group {
			form := rankedForm{term: hashWord(f.Text), boost: f.Boost}
			var space [1]document
			iterator := s.terms.find(form.term, &space)
			if iterator.count == 0 {
				continue
			}
			form.found = newMatches(len(allowed))
			for number, documents, ok := iterator.next(); ok; number, documents, ok = iterator.next() {
				documents.and(&allowed[number])
				form.found.sets[number] = documents
				form.count += documents.count()
			}
			if form.count == 0 { // no document in allowed has the form: the result must not reveal that other documents have it
				form.found.release()
				continue
			}
			forms = append(forms, form)
		}
		groups = append(groups, forms)
	}
	return groups
}

// unite adds the documents of the groups to found. It omits groups with a common word, unless
// each group has one.
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
