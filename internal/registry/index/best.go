// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// boundSlack is an upper bound of the relative error that rounding causes in a sum of scores.
const boundSlack = 1e-9

// columnFrom is a threshold: if at least columnFrom candidates of a leaf have a word, the search
// makes a column of the word, from the frequency of the word in each entry of the leaf.
const columnFrom = leafCapacity / 8

// best returns the entries of a ranking that have the highest scores and come after the cursor of
// the query. It returns at most one entry more than the limit of the query. It does not compute the
// scores of documents that cannot be among these entries (MaxScore: Turtle and Flood, 1995).
func (s *Snapshot) best(q *Query, r *ranking) []rankedEntry {
	best := make([]rankedEntry, 0, q.limit+1)
	scorer := leafScorer{ranking: r, groups: make([]leafGroup, 0, len(r.groups))}
	for l := range s.leavesIn(r.found.sets) {
		least := 0.0
		if len(best) == cap(best) {
			least = best[len(best)-1].score
		}
		candidates := scorer.candidates(l, least)
		if candidates.empty() {
			continue
		}
		scorer.read(l, &candidates)
		for slot := range candidates.all {
			score := scorer.score(slot)
			if len(best) == cap(best) && score < best[len(best)-1].score {
				continue
			}
			best = insertBest(best, rankedEntry{l.entryAt(slot), score}, q.after)
		}
	}
	return best
}

// insertBest inserts e into best, which is sorted by descending score. It ignores e if e is not
// after the cursor after. If best is full, the last entry is dropped.
func insertBest(best []rankedEntry, e rankedEntry, after position) []rankedEntry {
	if after.ranked && e.at().compare(after) <= 0 {
		return best
	}
	if len(best) == cap(best) {
		if e.compare(best[len(best)-1]) >= 0 {
			return best
		}
		best = best[:len(best)-1]
	}
	i, _ := slices.BinarySearchFunc(best, e, rankedEntry.compare)
	return slices.Insert(best, i, e)
}

// leafScorer computes the scores of the documents of one leaf at a time.
type leafScorer struct {
	*ranking
	leaf   *leaf
	groups []leafGroup
}

// leafGroup is a group of a query, with the documents of a leaf that have one of the group's forms.
type leafGroup struct {
	forms []leafForm
	found set
	// bound is an upper bound of the amount that the group adds to the score of a document.
	bound float64
}

type leafForm struct {
	*rankedForm
	found  *set
	column *column
}

// candidates returns the documents of a leaf whose scores can be at least as high as least. It
// makes l the leaf of later calls of score.
func (s *leafScorer) candidates(l *leaf, least float64) set {
	s.leaf = l
	s.groups = s.groups[:0]
	for _, forms := range s.ranking.groups {
		s.groups = s.groups[:len(s.groups)+1]
		group := &s.groups[len(s.groups)-1]
		group.forms = group.forms[:0]
		group.found = set{}
		group.bound = 0
		for i := range forms {
			form := leafForm{rankedForm: &forms[i], found: &forms[i].found.sets[l.number]}
			if form.found.empty() {
				continue
			}
			most := uint8(255)
			form.column = l.cachedColumn(form.term)
			if form.column != nil {
				most = form.column.most
			}
			group.bound = max(group.bound, s.statistics.Score(form.weight, most, l.shortest))
			group.found.or(form.found)
			group.forms = append(group.forms, form)
		}
		if len(group.forms) == 0 {
			s.groups = s.groups[:len(s.groups)-1]
		}
	}
	found := s.found.sets[l.number]
	if least > 0 {
		essential := s.essential(least)
		found.and(&essential)
	}
	return found
}

// essential returns the documents of the essential groups. A document in none of these groups has a
// lower score than least.
func (s *leafScorer) essential(least float64) set {
	byBound := make([]*leafGroup, 0, 32)
	for i := range s.groups {
		byBound = append(byBound, &s.groups[i])
	}
	slices.SortFunc(byBound, func(a, b *leafGroup) int { return cmp.Compare(a.bound, b.bound) })
	var essential set
	sum := 0.0
	for _, group := range byBound {
		sum += group.bound
		if sum*(1+boundSlack) >= least {
			essential.or(&group.found)
		}
	}
	return essential
}

// read makes a column of each word that at least columnFrom candidates have.
func (s *leafScorer) read(l *leaf, candidates *set) {
	for i := range s.groups {
		forms := s.groups[i].forms
		for j := range forms {
			if forms[j].column != nil {
				continue
			}
			both := *forms[j].found
			both.and(candidates)
			if both.count() >= columnFrom {
				forms[j].column = l.makeColumn(forms[j].term)
			}
		}
	}
}

// score returns the score of a document: the sum, over the groups, of the score of the group's best
// form. It adds the groups in the order of the query, because the order of the additions determines
// the rounding.
func (s *leafScorer) score(slot uint8) float64 {
	sum := 0.0
	length := s.leaf.lengths[slot]
	for i := range s.groups {
		group := &s.groups[i]
		if !group.found.has(slot) {
			continue
		}
		best := 0.0
		for j := range group.forms {
			form := &group.forms[j]
			if !form.found.has(slot) {
				continue
			}
			var frequency uint8
			if form.column != nil {
				frequency = form.column.frequencies[slot]
			} else {
				frequency = s.leaf.entryAt(slot).frequency(form.term)
			}
			best = max(best, s.statistics.Score(form.weight, frequency, length))
		}
		sum += best
	}
	return sum
}
