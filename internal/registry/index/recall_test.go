// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"net/url"
	"slices"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
)

const trigramDimensions = 1024

// trigrams returns an embedding of a text that needs no model: the counts of the hashed trigrams of the
// text, scaled to the length 1.
func trigrams(s string) []float64 {
	v := make([]float64, trigramDimensions)
	for word := range text.Words(s) {
		runes := []rune(" " + word + " ")
		for i := range max(1, len(runes)-2) {
			h := fnv.New32a()
			_, _ = h.Write([]byte(string(runes[i:min(i+3, len(runes))])))
			v[h.Sum32()%trigramDimensions]++
		}
	}
	length := 0.0
	for _, x := range v {
		length += x * x
	}
	for i := range v {
		v[i] /= max(1e-9, math.Sqrt(length))
	}
	return v
}

// scorer returns a function for the similarity of a vector to a query. It is fast for a query with few
// values that are not 0.
func scorer(query []float64) func(v []float64) float64 {
	var dimensions []int
	for i, x := range query {
		if x != 0 {
			dimensions = append(dimensions, i)
		}
	}
	return func(v []float64) (sum float64) {
		for _, i := range dimensions {
			sum += query[i] * v[i]
		}
		return sum
	}
}

// The questions of benchmark row R9 find their agents by words. With embeddings of trigrams, which match the parts of
// German compounds, more German questions find their agents. Trigrams do not depend on meaning, so fewer English and
// Spanish questions find theirs. The recall over all languages stays above the goal.
func TestRecallOfRankedSearches(t *testing.T) {
	agents, err := corpus.Agents()
	if err != nil {
		t.Fatal(err)
	}
	changes, vectors := map[Key]*Entry{}, map[Key][]float64{}
	keyOf := func(i int) Key { return Key{"corpus", fmt.Sprintf("agent-%04d", i)} }
	for i, a := range agents {
		encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": card.Card{
			Name: a.Name, Description: a.Description, Version: "1",
			Skills: []card.Skill{{ID: fmt.Sprintf("skill-%d", i), Name: a.Skill, Description: a.Detail, Tags: a.Tags}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if changes[keyOf(i)], err = NewEntry(Facts{Key: keyOf(i)}, CardSource{Text: string(encoded)}); err != nil {
			t.Fatal(err)
		}
		vectors[keyOf(i)] = trigrams(a.Name + " " + a.Description + " " + a.Skill + " " + a.Detail)
	}
	s := withEntries(&Snapshot{}, changes)
	recall := func(withEmbeddings bool) map[string]float64 {
		found := map[string]float64{}
		for i, a := range agents {
			q, err := ParseQuery("limit=5&q=" + url.QueryEscape(a.Question))
			if err != nil {
				t.Fatal(err)
			}
			if withEmbeddings {
				score := scorer(trigrams(a.Question))
				q.RankBySimilarity(func(keys iter.Seq[Key], n int) []Key {
					scores := map[Key]float64{}
					for key := range keys {
						scores[key] = score(vectors[key])
					}
					sorted := slices.SortedFunc(maps.Keys(scores), func(a, b Key) int {
						return cmp.Or(cmp.Compare(scores[b], scores[a]), a.compare(b))
					})
					return sorted[:min(n, len(sorted))]
				})
			}
			page := s.Search(q, nil)
			if slices.ContainsFunc(page.Entries, func(e *Entry) bool { return e.Key == keyOf(i) }) {
				found[a.Language] += 1 / 250.0
				found["all"] += 1 / float64(len(agents))
			}
		}
		return found
	}
	words, fused := recall(false), recall(true)
	t.Logf("recall@5 by words %v, fused %v", words, fused)
	for ranking, recall := range map[string]float64{"by words": words["all"], "fused": fused["all"]} {
		if recall < 0.9 {
			t.Errorf("recall@5 %s = %.3f, want 0.9", ranking, recall)
		}
	}
	if fused["de"] <= words["de"] {
		t.Errorf("recall@5 of German questions is %.3f fused and %.3f by words", fused["de"], words["de"])
	}
}
