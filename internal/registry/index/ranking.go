// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// In a search over more than commonFrom entries, a word is common if more than one entry
// in commonShare has it. A common word adds to the score of an entry, but only the other
// words of the query find entries. If all words of the query are common, each of them finds
// entries.
const (
	commonFrom  = 1000
	commonShare = 4
)

// rankedForm is a form of the word group of a query. count is the number of visible entries that have it.
type rankedForm struct {
	term   term
	group  int
	boost  float64
	weight float64
	count  int
}

// hit says that an entry of a block has a form of a query.
type hit struct {
	form      uint16
	entry     uint8
	frequency uint8
}

// blockHits has the hits of a block, hits[from:to] of the ranking, and the entries that the words find.
type blockHits struct {
	*block
	from, to int
	found    set
}

// ranking has the data from which the scores of a query are computed. All of it depends only on entries that match the
// filters of the query and that the caller sees.
type ranking struct {
	// forms has the forms of all groups, in the order of the query.
	forms  []rankedForm
	groups int
	blocks []blockHits
	// hits are sorted by block, form and entry.
	hits       []hit
	statistics text.Statistics
	// corrections has the words in whose place similar words find entries.
	corrections []Correction
	// total is the number of entries that the words find.
	total int
}

var rankings = sync.Pool{New: func() any { return &ranking{} }}

// maxPooledHits bounds the hits whose memory is kept for later searches, to 4 MB.
const maxPooledHits = 1 << 20

func (r *ranking) release() {
	if cap(r.hits) > maxPooledHits {
		return
	}
	clear(r.blocks)
	*r = ranking{forms: r.forms[:0], blocks: r.blocks[:0], hits: r.hits[:0]}
	rankings.Put(r)
}

// ranking returns the ranking of a query. The caller must release it.
func (s *Snapshot) ranking(q *Query, caller *access.Set) *ranking {
	r := rankings.Get().(*ranking)
	r.groups = len(q.ranked.Groups)
	for i, group := range q.ranked.Groups {
		for _, f := range group {
			r.forms = append(r.forms, rankedForm{term: hashWord(f.Text), group: i, boost: f.Boost})
		}
	}
	for b, allowed := range s.scan(q.hashes, caller) {
		r.statistics.Documents += allowed.count()
		r.read(b, allowed, 0, nil)
	}
	r.forgive(s, q, caller)
	for i := range r.forms {
		r.forms[i].weight = r.statistics.Weight(r.forms[i].count) * r.forms[i].boost
	}
	r.find()
	return r
}

// read adds the hits of a block: those before, and the hits of the forms from first on.
func (r *ranking) read(b *block, allowed set, first int, before []hit) {
	from := len(r.hits)
	r.hits = append(r.hits, before...)
	for i := first; i < len(r.forms); i++ {
		form := &r.forms[i]
		for entry := range (allowed & b.rows[form.term.row()]).all() {
			if frequency := b.entries[entry].frequency(form.term); frequency > 0 {
				form.count++
				r.hits = append(r.hits, hit{uint16(i), uint8(entry), frequency}) // a query has at most 32 words, and a block 64 entries
			}
		}
	}
	if len(r.hits) > from {
		r.blocks = append(r.blocks, blockHits{block: b, from: from, to: len(r.hits)})
	}
}

// find finds the entries that have a word of the query. It omits groups with a common word, unless each group has one.
func (r *ranking) find() {
	finds := make([]bool, r.groups)
	common := make([]bool, r.groups)
	for _, f := range r.forms {
		if r.statistics.Documents > commonFrom && f.count > r.statistics.Documents/commonShare {
			common[f.group] = true
		}
	}
	for _, f := range r.forms {
		finds[f.group] = finds[f.group] || f.count > 0 && !common[f.group]
	}
	if !slices.Contains(finds, true) {
		finds = common
	}
	length := 0
	for i := range r.blocks {
		b := &r.blocks[i]
		for _, h := range r.hits[b.from:b.to] {
			if finds[r.forms[h.form].group] {
				b.found |= 1 << h.entry
			}
		}
		for entry := range b.found.all() {
			length += int(b.entries[entry].length)
		}
		r.total += b.found.count()
	}
	if r.total > 0 {
		r.statistics.MeanLength = float64(length) / float64(r.total)
	}
}

// entries yields the entries that the words find, in the order of keys.
func (r *ranking) entries() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range r.blocks {
			for entry := range r.blocks[i].found.all() {
				if !yield(r.blocks[i].entries[entry]) {
					return
				}
			}
		}
	}
}

// best returns the entries that have the highest scores and come after a position. It returns at most one entry more
// than limit.
func (r *ranking) best(after position, limit int) []rankedEntry {
	best := make([]rankedEntry, 0, limit+1)
	for i := range r.blocks {
		b := &r.blocks[i]
		scores := r.scores(b)
		for entry := range b.found.all() {
			best = insertBest(best, rankedEntry{b.entries[entry], scores[entry]}, after)
		}
	}
	return best
}

// scores returns the scores of the found entries of a block: the sum, over the groups, of the score of the group's best
// form. It adds the groups in the order of the query, because the order of the additions determines the rounding.
func (r *ranking) scores(b *blockHits) (sums [blockCapacity]float64) {
	var best [blockCapacity]float64
	group := 0
	add := func() {
		for entry := range b.found.all() {
			sums[entry] += best[entry]
			best[entry] = 0
		}
	}
	for _, h := range r.hits[b.from:b.to] {
		if !b.found.has(int(h.entry)) {
			continue
		}
		form := &r.forms[h.form]
		if form.group != group {
			add()
			group = form.group
		}
		best[h.entry] = max(best[h.entry], r.statistics.Score(form.weight, h.frequency, b.entries[h.entry].length))
	}
	add()
	return sums
}

// limit returns an upper bound of the scores.
func (r *ranking) limit() float64 {
	most := make([]float64, r.groups)
	for _, f := range r.forms {
		if f.count > 0 { // the bound must not reveal whether hidden entries have the form
			most[f.group] = max(most[f.group], f.weight)
		}
	}
	sum := 0.0
	for _, weight := range most {
		sum += r.statistics.Limit(weight)
	}
	return sum
}

// insertBest inserts e into best, which is sorted by descending score. It ignores e if e is not
// after the cursor after. If best is full, the last entry is dropped.
func insertBest(best []rankedEntry, e rankedEntry, after position) []rankedEntry {
	if len(best) == cap(best) && e.compare(best[len(best)-1]) >= 0 || after.ranked && e.at().compare(after) <= 0 {
		return best
	}
	if len(best) == cap(best) {
		best = best[:len(best)-1]
	}
	i, _ := slices.BinarySearchFunc(best, e, rankedEntry.compare)
	return slices.Insert(best, i, e)
}

// rankedEntry is an entry that a ranked search found.
type rankedEntry struct {
	*Entry
	score float64
}

// at returns the position of the entry in the order of the search.
func (e rankedEntry) at() position { return position{Key: e.Key, ranked: true, score: e.score} }

// compare orders the entries of one search as position.compare does.
func (e rankedEntry) compare(other rankedEntry) int {
	if e.score == other.score {
		return e.Key.compare(other.Key)
	}
	return cmp.Compare(other.score, e.score)
}
