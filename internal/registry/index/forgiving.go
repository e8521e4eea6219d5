// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

const (
	// maxForgiven bounds the words of a query for which a search reads similar words, and maxSimilar the similar words of
	// each.
	maxForgiven = 4
	maxSimilar  = 8
	// presentBits determines the memory of keepPresent: 64 KB, of which the similar words of a search set a small part.
	presentBits = 19
)

// Correction is a word of a query that no agent has, and the similar words by which the search finds agents.
type Correction struct {
	Word string   `json:"word"`
	As   []string `json:"as"`
}

// forgive lets similar words find entries in place of the words of a query that no entry has. It chooses among the words of
// the entries that match the filters of the query and that the caller sees, so that other entries change neither the
// result nor, apart from the scan of the vocabulary, the time.
func (r *ranking) forgive(s *Snapshot, q *Query, caller *access.Set) {
	counts := make([]int, r.groups)
	for _, f := range r.forms {
		counts[f.group] += f.count
	}
	similar := map[int][]text.Similar{}
	steps := text.MaxSteps
	for group, count := range counts {
		if count == 0 && len(similar) < maxForgiven {
			similar[group] = text.SimilarWords(q.ranked.Groups[group][0].Text, group == r.groups-1, s.words, &steps)
		}
	}
	if len(similar) == 0 {
		return
	}
	if len(q.hashes) > 0 || caller != nil && !caller.All() {
		s.keepPresent(similar, q, caller)
	}
	first := len(r.forms)
	for group, words := range similar {
		for i := range words {
			if i == maxSimilar || !words[i].Resembles(words[0]) {
				similar[group] = words[:i]
				break
			}
			for _, f := range words[i].Forms() {
				r.forms = append(r.forms, rankedForm{term: hashWord(f.Text), group: group, boost: f.Boost})
			}
		}
	}
	slices.SortStableFunc(r.forms[first:], func(a, b rankedForm) int { return a.group - b.group })
	r.readMore(s, q, caller, first)
	r.correct(q, similar, first)
}

// keepPresent deletes the words that no visible entry has which matches the filters. Its time does not depend on the words.
func (s *Snapshot) keepPresent(similar map[int][]text.Similar, q *Query, caller *access.Set) {
	rows := make([]uint64, 1<<presentBits/64)
	present := map[term]bool{}
	for _, words := range similar {
		for _, w := range words {
			t := hashWord(w.Text)
			present[t] = false
			place := t >> (64 - presentBits)
			rows[place/64] |= 1 << (place % 64)
		}
	}
	for e := range s.entries(q.hashes, caller) {
		for _, t := range e.terms {
			place := t >> (64 - presentBits)
			if rows[place/64]&(1<<(place%64)) == 0 {
				continue
			}
			if _, sought := present[t.name()]; sought {
				present[t.name()] = true
			}
		}
	}
	for group, words := range similar {
		similar[group] = slices.DeleteFunc(words, func(w text.Similar) bool { return !present[hashWord(w.Text)] })
	}
}

// readMore adds the hits of the forms from first on to those of the other forms.
func (r *ranking) readMore(s *Snapshot, q *Query, caller *access.Set, first int) {
	if len(r.forms) == first {
		return
	}
	hits := r.hits
	blocks := r.blocks
	r.hits = nil
	r.blocks = nil
	for b, allowed := range s.scan(q.hashes, caller) {
		var before []hit
		if len(blocks) > 0 && blocks[0].block == b {
			before = hits[blocks[0].from:blocks[0].to]
			blocks = blocks[1:]
		}
		r.read(b, allowed, first, before)
	}
}

// correct sets the corrections: the similar words that an entry has.
func (r *ranking) correct(q *Query, similar map[int][]text.Similar, first int) {
	found := map[term]bool{}
	for _, f := range r.forms[first:] {
		found[f.term] = f.count > 0
	}
	for group := range r.groups {
		c := Correction{Word: q.ranked.Groups[group][0].Text}
		for _, w := range similar[group] {
			if found[hashWord(w.Text)] {
				c.As = append(c.As, w.Text)
			}
		}
		if len(c.As) > 0 {
			r.corrections = append(r.corrections, c)
		}
	}
}
