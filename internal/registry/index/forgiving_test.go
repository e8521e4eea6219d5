// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
)

// describedAgent is an agent of testdata/forgiving.txt, and soughtAgent a query for one.
type describedAgent struct {
	key  string
	text string
}

type soughtAgent struct {
	query string
	// keys are the agents of which one must be found. Without keys, the query must find nothing.
	keys []string
}

// readForgiving returns the agents and queries of testdata/forgiving.txt, and the snapshot of the agents.
func readForgiving(t *testing.T) (agents []describedAgent, queries []soughtAgent, s *Snapshot) {
	t.Helper()
	table, err := os.ReadFile("testdata/forgiving.txt")
	if err != nil {
		t.Fatal(err)
	}
	changes := map[Key]*Entry{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case fields[0] == "agent":
			c := card.Card{
				Name: fields[3], Description: fields[4], Version: "1",
				Skills: []card.Skill{{ID: "main", Name: fields[3], Tags: strings.Split(fields[5], ", ")}},
			}
			encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
			if err != nil {
				t.Fatal(err)
			}
			key := Key{"fleet", fields[2]}
			if changes[key], err = NewEntry(Facts{Key: key}, CardSource{Text: string(encoded)}); err != nil {
				t.Fatal(err)
			}
			agents = append(agents, describedAgent{fields[2], strings.Join(fields[2:], " ")})
		case fields[0] == "query" && fields[3] == "-":
			queries = append(queries, soughtAgent{query: fields[2]})
		case fields[0] == "query":
			queries = append(queries, soughtAgent{fields[2], strings.Split(fields[3], ", ")})
		}
	}
	return agents, queries, withEntries(&Snapshot{}, changes)
}

// success returns the share of the queries that find one of their agents among the first three, and nothing if they must
// find nothing.
func success(t *testing.T, name string, queries []soughtAgent, find func(query string) []string) float64 {
	t.Helper()
	right := 0
	for _, q := range queries {
		found := find(q.query)
		first := found[:min(3, len(found))]
		if len(q.keys) == 0 && len(found) == 0 || slices.ContainsFunc(q.keys, func(k string) bool { return slices.Contains(first, k) }) {
			right++
		} else {
			t.Logf("%s: %q finds %q, want %q", name, q.query, first, q.keys)
		}
	}
	return float64(right) / float64(len(queries))
}

// byBM25 ranks the agents by BM25 of their normalized words.
func byBM25(agents []describedAgent) func(string) []string {
	statistics := text.Statistics{Documents: len(agents)}
	counts := map[string]int{}
	documents := make([]map[string]uint8, len(agents))
	lengths := make([]uint16, len(agents))
	for i, a := range agents {
		documents[i] = map[string]uint8{}
		for word := range text.Words(a.text) {
			if documents[i][word] == 0 {
				counts[word]++
			}
			documents[i][word]++
			lengths[i]++
		}
		statistics.MeanLength += float64(lengths[i]) / float64(len(agents))
	}
	return func(query string) []string {
		return bestOf(agents, func(i int) (score float64) {
			for word := range text.Words(query) {
				score += statistics.Score(statistics.Weight(counts[word]), documents[i][word], lengths[i])
			}
			return score
		})
	}
}

// byTrigrams ranks the agents by the cosine of their trigrams and those of the query. Below a threshold, chosen for the
// best result, it finds nothing.
func byTrigrams(agents []describedAgent, threshold float64) func(string) []string {
	vectors := make([][]float64, len(agents))
	for i, a := range agents {
		vectors[i] = trigrams(a.text)
	}
	return func(query string) []string {
		similarity := scorer(trigrams(query))
		return bestOf(agents, func(i int) float64 {
			if s := similarity(vectors[i]); s > threshold {
				return s
			}
			return 0
		})
	}
}

// bestOf returns the keys of the agents with a positive score, the best first.
func bestOf(agents []describedAgent, score func(i int) float64) (keys []string) {
	scores := map[string]float64{}
	for i, a := range agents {
		if s := score(i); s > 0 && !math.IsNaN(s) {
			scores[a.key] = s
			keys = append(keys, a.key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return stdcmp.Or(stdcmp.Compare(scores[b], scores[a]), stdcmp.Compare(a, b)) })
	return keys
}

// Queries with typing mistakes, without accents, with prefixes and single characters find their agents.
func TestSearchForgives(t *testing.T) {
	agents, queries, s := readForgiving(t)
	got := success(t, "search", queries, func(query string) (keys []string) {
		q, err := ParseQuery("q=" + url.QueryEscape(query))
		if err != nil {
			t.Fatal(err)
		}
		page := s.Search(q, nil)
		for _, e := range page.Entries {
			keys = append(keys, e.Key.Name)
		}
		return keys
	})
	bm25 := success(t, "BM25", queries, byBM25(agents))
	best := 0.0
	for threshold := 0.05; threshold < 0.4; threshold += 0.05 {
		best = max(best, success(t, "trigrams", queries, byTrigrams(agents, threshold)))
	}
	t.Logf("Success@3 of %d queries: search %.3f, BM25 %.3f, trigrams %.3f", len(queries), got, bm25, best)
	if got < 0.97 {
		t.Errorf("Success@3 = %.3f, want 0.97", got)
	}
}

// A search neither names nor finds words of agents that the caller does not see, or that the filters exclude, and such words
// do not change its results.
func TestSearchForgivesByVisibleWordsOnly(t *testing.T) {
	open := Key{"open", "forecast"}
	changes := map[Key]*Entry{open: describedEntry(t, open, "Tells the weather.")}
	for i := range 40 { // more similar words than a search reads, each before the visible one in its order
		key := Key{"hidden", fmt.Sprintf("agent-%d", i)}
		changes[key] = describedEntry(t, key, fmt.Sprintf("The wea%c%cer of projectx.", 'a'+i%20, 'a'+i/20))
	}
	s := withEntries(&Snapshot{}, changes)
	for query, corrections := range map[string][]Correction{
		"weahter":                {{"weahter", []string{"weather"}}},
		"weahter&namespace=open": {{"weahter", []string{"weather"}}},
		"proejctx":               nil,
		"project":                nil,
	} {
		q, err := ParseQuery("q=" + query)
		if err != nil {
			t.Fatal(err)
		}
		page := s.Search(q, access.NewSet(access.VisibilityPublic, "open"))
		if diff := cmp.Diff(corrections, page.Corrections); diff != "" || len(page.Entries) != len(corrections) {
			t.Errorf("%s finds %d agents, corrections (-want +got):\n%s", query, len(page.Entries), diff)
		}
		if strings.Contains(query, "namespace") {
			page = s.Search(q, nil) // a caller that sees all, and excludes the others by the filter
			if diff := cmp.Diff(corrections, page.Corrections); diff != "" {
				t.Errorf("%s of a caller that sees all: corrections (-want +got):\n%s", query, diff)
			}
		}
	}
	q, err := ParseQuery("q=proejctx")
	if err != nil {
		t.Fatal(err)
	}
	if page := s.Search(q, nil); page.Total != 40 || string(page.appendTail(nil)) != `],"nextCursor":"","total":40,"corrections":[{"word":"proejctx","as":["projectx"]}]` {
		t.Errorf("a caller that sees all gets %s", page.appendTail(nil))
	}
}

// Words of hidden agents use up nothing of what a search may compare.
func TestForgivingDependsOnVisibleAgentsOnly(t *testing.T) {
	open := Key{"open", "forecast"}
	visible := map[Key]*Entry{open: describedEntry(t, open, "Tells the weather, and reads an abcdefghijabcdefghijabcdefkkka.")}
	alone := withEntries(&Snapshot{}, visible)
	beside := *alone
	hidden := make([]string, 0, 1<<16)
	for i := range 1 << 15 {
		ending := string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676%26), byte('a' + i/17576)})
		hidden = append(hidden, "weahter"+ending, "abcdefghijabcdefghijabcdef"+ending)
	}
	beside.words = nil
	for part := range slices.Chunk(hidden, 1024) {
		text.Vocabulary([]text.Field{{Text: strings.Join(part, " ")}}, func(w text.Word) { beside.words = append(beside.words, w.Clone()) })
	}
	beside.words = append(beside.words, alone.words...)
	for _, query := range []string{"weahter", "abcdefghijabcdefghijabcdefkkak+abcdefghijabcdefghijabcdefkakk+abcdefghijabcdefghijabcdefakkk+weahter"} {
		q, err := ParseQuery("q=" + query)
		if err != nil {
			t.Fatal(err)
		}
		caller := access.NewSet(access.VisibilityPublic, "open")
		want, got := alone.Search(q, caller), beside.Search(q, caller)
		if diff := cmp.Diff(string(want.AppendBody(nil)), string(got.AppendBody(nil))); diff != "" || want.Total != 1 {
			t.Errorf("%s finds %d agents; hidden words change the response (-without +with):\n%s", query, want.Total, diff)
		}
	}
}

// Unusual queries are answered.
func TestUnusualQueries(t *testing.T) {
	_, _, s := readForgiving(t)
	for query, invalid := range map[string]bool{
		"w": false, "天": false, "ä": false, "\u0301": false, "1": false, strings.Repeat("a", 64): false, strings.Repeat("a", 512): true, strings.Repeat("a", 10_000): true,
		"weather 天气 погода मौसम สภาพอากาศ": false, "the of and": false, "der": false, " ... ": true,
		strings.Repeat("weathr invoic ", 30): false, strings.Repeat("天", 170): false, "\xff\xfe": true, "wea\u0000ther": false,
	} {
		q, err := ParseQuery("q=" + url.QueryEscape(query))
		if (err != nil) != invalid {
			t.Errorf("%.40q: error %v", query, err)
		}
		if err == nil {
			s.Search(q, nil)
			s.Search(q, access.NewSet(access.VisibilityPublic, "fleet"))
		}
	}
}

// Filters find values in both encodings of Unicode.
func TestFiltersInBothEncodings(t *testing.T) {
	_, _, s := readForgiving(t)
	for _, query := range []string{"tag=comptabilit\u00e9", "tag=Comptabilite\u0301", "text=comptabilite\u0301", "text=comptabilite"} {
		name, value, _ := strings.Cut(query, "=")
		q, err := ParseQuery(url.Values{name: {value}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if page := s.Search(q, nil); page.Total != 1 || page.Entries[0].Key.Name != "comptable" {
			t.Errorf("%s finds %d agents", query, page.Total)
		}
	}
}

// forgivingFleet returns a snapshot of agents with the texts of the corpus.
func forgivingFleet(tb testing.TB, size int) (*Snapshot, []corpus.Agent) {
	tb.Helper()
	texts, err := corpus.Agents()
	if err != nil {
		tb.Fatal(err)
	}
	changes := make(map[Key]*Entry, size)
	for i := range size {
		a := texts[i%len(texts)]
		key := Key{fmt.Sprintf("team-%04d", i/50), fmt.Sprintf("agent-%06d", i)}
		encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": card.Card{
			Name: a.Name, Description: a.Description, Version: "1",
			Skills: []card.Skill{{ID: "main", Name: a.Skill, Description: a.Detail, Tags: a.Tags}},
		}})
		if err != nil {
			tb.Fatal(err)
		}
		if changes[key], err = NewEntry(Facts{Key: key}, CardSource{Text: string(encoded)}); err != nil {
			tb.Fatal(err)
		}
	}
	return withEntries(&Snapshot{}, changes), texts
}

// mistaken returns a question with two letters exchanged in its longest word.
func mistaken(question string) string {
	words := strings.Fields(question)
	longest := 0
	for i, word := range words {
		if len(word) > len(words[longest]) {
			longest = i
		}
	}
	letters := []rune(words[longest])
	if len(letters) < 5 {
		return question
	}
	letters[2], letters[3] = letters[3], letters[2]
	words[longest] = string(letters)
	return strings.Join(words, " ")
}

// BenchmarkForgiving100k compares searches with a mistaken word among 100,000 agents with the same searches that do not look
// for similar words. exact/forgiving is the time of the latter divided by the time of the former. A caller sees all agents,
// or one namespace in ten.
func BenchmarkForgiving100k(b *testing.B) {
	s, texts := forgivingFleet(b, 100_000)
	exact := *s
	exact.words = nil
	var questions, words []*Query
	for i := 0; i < len(texts); i += 7 {
		if texts[i].Language == "zh" {
			continue
		}
		question := mistaken(texts[i].Question)
		for text, list := range map[string]*[]*Query{question: &questions, slices.MaxFunc(strings.Fields(question), func(a, b string) int { return len(a) - len(b) }): &words} {
			q, err := ParseQuery("limit=5&q=" + url.QueryEscape(text))
			if err != nil {
				b.Fatal(err)
			}
			*list = append(*list, q)
		}
	}
	var some []string
	for i, namespace := range s.Namespaces(nil) {
		if i%10 == 0 {
			some = append(some, namespace)
		}
	}
	b.Logf("%d words", len(s.words))
	for name, caller := range map[string]*access.Set{"all": nil, "some": access.NewSet(access.VisibilityPublic, some...)} {
		for kind, queries := range map[string][]*Query{"questions": questions, "words": words} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				i, j := 0, 0
				compare(b, "forgiving", func() { s.Search(queries[i%len(queries)], caller); i++ },
					"exact", func() { exact.Search(queries[j%len(queries)], caller); j++ })
			})
		}
	}
}
