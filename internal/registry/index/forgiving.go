// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// maxForgiven bounds the words of a query for which a search reads similar words.
const maxForgiven = 4

// minSlotBits is the least size of the hash table of a search, as a power of 2: most of its slots are empty.
const minSlotBits = 12

// Correction is a word of a query that no agent has, and the similar words by which the search finds agents.
type Correction struct {
	Word string   `json:"word"`
	As   []string `json:"as"`
}

// forgive lets similar words find entries in place of the words of a query that no entry has. It chooses among the words of
// the entries that match the filters of the query and that the caller sees, so that other entries do not change the result,
// and the time only by a scan of the vocabulary that compares no letters.
func (r *ranking) forgive(s *Snapshot, q *Query, caller *access.Set) {
	counts := make([]int, r.groups)
	for _, f := range r.forms {
		counts[f.group] += f.count
	}
	var groups []int
	var sought []*text.Sought
	for group, count := range counts {
		if count == 0 && len(groups) < maxForgiven {
			groups = append(groups, group)
			sought = append(sought, text.Seek(q.ranked.Groups[group][0].Text, group == r.groups-1))
		}
	}
	if len(groups) == 0 {
		return
	}
	isPresent := func(int) bool { return true }
	if len(q.hashes) > 0 || caller != nil && !caller.All() {
		isPresent = s.present(sought, q, caller)
	}
	first := len(r.forms)
	similar := map[int][]text.Similar{}
	steps := text.MaxSteps
	for i, group := range groups {
		similar[group] = sought[i].Similar(s.words, isPresent, &steps)
		for _, w := range similar[group] {
			for _, f := range w.Forms() {
				r.forms = append(r.forms, rankedForm{term: hashWord(f.Text), group: group, boost: f.Boost})
			}
		}
	}
	r.readMore(s, q, caller, first)
	r.correct(q, similar, first)
}

// present returns a function that reports whether a visible entry that matches the filters has a word of the vocabulary, for
// the words that those sought may resemble. It looks up the terms of the entries in a hash table of these words.
func (s *Snapshot) present(sought []*text.Sought, q *Query, caller *access.Set) func(i int) bool {
	var words []int
	for i := range s.words {
		if slices.ContainsFunc(sought, func(of *text.Sought) bool { return of.MayResemble(&s.words[i]) }) {
			words = append(words, i)
		}
	}
	type slot struct {
		term term
		word int
	}
	size := max(minSlotBits, bits.Len(uint(2*len(words))))
	slots := make([]slot, 1<<size)
	find := func(t term) *slot {
		for i := int(t >> (64 - size)); ; i++ {
			if found := &slots[i%len(slots)]; found.term == 0 || found.term == t {
				return found
			}
		}
	}
	for _, i := range words {
		t := hashWord(s.words[i].Text)
		*find(t) = slot{t, i}
	}
	present := make([]bool, len(s.words))
	for e := range s.entries(q.hashes, caller) {
		for _, t := range e.terms {
			if found := find(t.name()); found.term != 0 {
				present[found.word] = true
			}
		}
	}
	return func(i int) bool { return present[i] }
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
