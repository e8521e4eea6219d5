// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// plainRanking computes all results of a ranked search from the frequencies of all words in all entries.
func plainRanking(s *Snapshot, q *Query, caller *access.Set) (ranked []rankedEntry) {
	var allowed []*Entry
	for e := range s.All {
		if q.Matches(e) && (caller == nil || e.VisibleTo(caller)) {
			allowed = append(allowed, e)
		}
	}
	statistics := text.Statistics{Documents: len(allowed)}
	counts := map[string]int{}
	common, rare := map[int]bool{}, map[int]bool{}
	for i, group := range q.ranked.Groups {
		for _, form := range group {
			n := 0
			for _, e := range allowed {
				if e.frequency(hashWord(form.Text)) > 0 {
					n++
				}
			}
			counts[form.Text] = n
			common[i] = common[i] || len(allowed) > commonFrom && n > len(allowed)/commonShare
			rare[i] = rare[i] || n > 0
		}
	}
	finds := func(i int) bool { return true }
	for i := range q.ranked.Groups {
		if rare[i] && !common[i] {
			finds = func(i int) bool { return !common[i] }
		}
	}
	var found []*Entry
	for _, e := range allowed {
		for i, group := range q.ranked.Groups {
			if finds(i) && slices.ContainsFunc(group, func(f text.Form) bool { return e.frequency(hashWord(f.Text)) > 0 }) {
				found = append(found, e)
				statistics.MeanLength += float64(e.length)
				break
			}
		}
	}
	statistics.MeanLength /= float64(max(1, len(found)))
	for _, e := range found {
		sum := 0.0
		for _, group := range q.ranked.Groups {
			most := 0.0
			for _, f := range group {
				weight := statistics.Weight(counts[f.Text]) * f.Boost
				most = max(most, statistics.Score(weight, e.frequency(hashWord(f.Text)), e.length))
			}
			sum += most
		}
		ranked = append(ranked, rankedEntry{e, sum})
	}
	slices.SortFunc(ranked, rankedEntry.compare)
	return ranked
}

// rankedText returns a description of random words, such as w3s. Words with low numbers are the most frequent.
func rankedText(random *rand.Rand, words int) string {
	var b strings.Builder
	for range 1 + random.IntN(words) {
		rank := random.IntN(1 + random.IntN(1+random.IntN(60)))
		fmt.Fprintf(&b, "w%d%s ", rank, []string{"", "", "s", "ing"}[random.IntN(4)])
	}
	return b.String()
}

// A ranked search returns the same entries, scores and ties as a search that computes all
// scores, on each page, for each visible set and after changes.
func TestBestEqualsPlainRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	describe := func() *Entry {
		key := Key{fmt.Sprintf("team-%d", random.IntN(6)), fmt.Sprintf("agent-%d", random.IntN(300))}
		e := describedEntry(t, key, rankedText(random, 12))
		e.Visibility = access.Visibility(random.IntN(int(access.VisibilityOutside) + 1))
		return e
	}
	s := &Snapshot{}
	callers := []*access.Set{
		nil, access.NewSet(access.VisibilityCluster), access.NewSet(access.VisibilityFederated), access.NewSet(access.VisibilityPublic, "team-1", "team-4"),
		access.NewSet(access.VisibilityOutside), access.NewSet(access.VisibilityPublic, "team-0"),
	}
	scored := 0
	for _, size := range []int{1, 1500, 40, 200} {
		changes := map[Key]*Entry{}
		for range size {
			e := describe()
			changes[e.Key] = e
		}
		s = withEntries(s, changes)
		for range 60 {
			parameters := url.Values{"q": {rankedText(random, 5)}, "limit": {[]string{"1", "3", "50"}[random.IntN(3)]}}
			if random.IntN(3) == 0 {
				parameters["tag"] = []string{"skill"}
			}
			caller := callers[random.IntN(len(callers))]
			q, err := ParseQuery(parameters.Encode())
			if err != nil {
				t.Fatal(err)
			}
			want := plainRanking(s, q, caller)
			total := len(want)
			for page := range 4 {
				r := s.ranking(q, caller)
				got := r.best(q.after, q.limit)
				if r.total != total {
					t.Fatalf("%v finds %d entries, want %d", parameters, r.total, total)
				}
				r.release()
				if diff := cmp.Diff(formatRanked(want[:min(len(want), q.limit+1)]), formatRanked(got)); diff != "" {
					t.Fatalf("%v, page %d (-want +got):\n%s", parameters, page, diff)
				}
				if scored += len(got); len(got) <= q.limit {
					break
				}
				q.after = got[q.limit-1].at()
				want = want[q.limit:]
			}
		}
	}
	if scored < 1000 {
		t.Errorf("the searches found %d entries; they prove nothing", scored)
	}
}

func formatRanked(ranked []rankedEntry) []string {
	lines := []string{}
	for _, e := range ranked {
		lines = append(lines, fmt.Sprintf("%s/%s %b %p", e.Key.Namespace, e.Key.Name, e.score, e.Entry))
	}
	return lines
}

// BenchmarkRankedSearch20k measures a page of a ranked search among 20,000 agents.
func BenchmarkRankedSearch20k(b *testing.B) {
	random := rand.New(rand.NewPCG(9, 10))
	changes := map[Key]*Entry{}
	for i := range 20_000 {
		e := describedEntry(b, Key{fmt.Sprintf("team-%d", i%50), fmt.Sprintf("agent-%d", i)}, rankedText(random, 40))
		changes[e.Key] = e
	}
	s := withEntries(&Snapshot{}, changes)
	for _, words := range []string{"w0", "w30", "w0 w1 w2", "w1 w10 w30 w50", "w40 w50"} {
		q, err := ParseQuery(url.Values{"q": {words}, "limit": {"5"}}.Encode())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(words, " ", "+"), func(b *testing.B) {
			for b.Loop() {
				s.Search(q, nil)
			}
		})
	}
}
