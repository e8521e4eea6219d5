// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// describedEntry returns the entry of an agent with one skill.
func describedEntry(tb testing.TB, key Key, description string, examples ...string) *Entry {
	tb.Helper()
	c := card.Card{
		Name: key.Name, Description: description, Version: "1.0.0",
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []card.Skill{{ID: "main", Name: "Main", Description: "The skill.", Tags: []string{"skill"}, Examples: examples}},
	}
	encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := NewEntry(Facts{Key: key, Ready: true}, CardSource{Text: string(encoded)})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func scoresOf(p *Page) []float64 {
	scores := make([]float64, len(p.Entries))
	for i := range scores {
		scores[i] = p.Score(i)
	}
	return scores
}

// rankedKeys returns the keys of all pages of a ranked search.
func rankedKeys(t *testing.T, s *Snapshot, parameters url.Values, caller *access.Set) []string {
	t.Helper()
	var keys []string
	for {
		q, err := ParseQuery(parameters.Encode())
		if err != nil {
			t.Fatal(err)
		}
		page := s.Search(q, caller)
		scores := scoresOf(&page)
		if !slices.IsSortedFunc(scores, func(a, b float64) int { return -cmpFloat(a, b) }) {
			t.Errorf("the scores %v are not sorted", scores)
		}
		for _, score := range scores {
			if score <= 0 || score > 1 {
				t.Errorf("score %v is not in (0, 1]", score)
			}
		}
		keys = append(keys, keysOf(page.Entries)...)
		if !page.More {
			if page.Total != len(keys) {
				t.Errorf("total = %d, but the pages have %d", page.Total, len(keys))
			}
			return keys
		}
		parameters = url.Values{"q": parameters["q"], "limit": parameters["limit"], "ready": parameters["ready"], "cursor": {page.CursorAfter(len(page.Entries) - 1)}}
	}
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

func TestRankedSearch(t *testing.T) {
	s := snapshotOf(
		describedEntry(t, Key{"a", "weather"}, "Forecasts the weather of a city.", "Will it rain in Paris tomorrow?"),
		describedEntry(t, Key{"a", "travel"}, "Books flights and hotels, in any weather."),
		describedEntry(t, Key{"b", "meteo"}, "Prévisions météorologiques des villes."),
		describedEntry(t, Key{"b", "storm"}, "Warns of storms and of bad weather; weather maps."),
		describedEntry(t, Key{"c", "echo"}, "Repeats the message."),
	)
	all := access.NewSet(access.VisibilityCluster)
	for name, test := range map[string]struct {
		q      string
		caller *access.Set
		want   []string
	}{
		"best first":                   {"weather", all, []string{"a/weather", "b/storm", "a/travel"}},
		"an example is found":          {"rain in Paris", all, []string{"a/weather"}},
		"forms of a word":              {"forecast storm", all, []string{"b/storm", "a/weather"}},
		"another language":             {"prévision météorologique", all, []string{"b/meteo"}},
		"hidden namespaces are absent": {"weather", access.NewSet(access.VisibilityPublic, "b"), []string{"b/storm"}},
		"nothing is visible":           {"weather", access.NewSet(access.VisibilityPublic), nil},
		"nothing matches":              {"blockchain", all, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, rankedKeys(t, s, url.Values{"q": {test.q}}, test.caller)); diff != "" {
				t.Errorf("q=%s (-want +got):\n%s", test.q, diff)
			}
			if diff := cmp.Diff(test.want, rankedKeys(t, s, url.Values{"q": {test.q}, "limit": {"1"}, "ready": {"true"}}, test.caller)); diff != "" {
				t.Errorf("q=%s in pages of one (-want +got):\n%s", test.q, diff)
			}
		})
	}
}

// Agents that a caller may not see change neither the order nor the bytes of a response.
func TestRankingDependsOnVisibleAgentsOnly(t *testing.T) {
	visible := []*Entry{
		describedEntry(t, Key{"a", "first"}, "Translates contracts, letters and manuals."),
		describedEntry(t, Key{"a", "second"}, "Translates, and answers questions about invoices."),
		describedEntry(t, Key{"a", "third"}, "Answers questions about contracts."),
	}
	hidden := slices.Clone(visible)
	for i := range 300 {
		hidden = append(hidden, describedEntry(t, Key{"z", fmt.Sprintf("agent-%d", i)}, "Acquisitions. "+strings.Repeat("Contracts and questions. ", i%7)))
	}
	caller := access.NewSet(access.VisibilityPublic, "a")
	q, err := ParseQuery("q=contracts+questions+translates+acquisitions")
	if err != nil {
		t.Fatal(err)
	}
	want, got := snapshotOf(visible...).Search(q, caller), snapshotOf(hidden...).Search(q, caller)
	if diff := cmp.Diff(scoresOf(&want), scoresOf(&got)); diff != "" {
		t.Errorf("the scores depend on hidden agents (-without +with):\n%s", diff)
	}
	if diff := cmp.Diff(string(want.AppendBody(nil)), string(got.AppendBody(nil))); diff != "" {
		t.Errorf("the response depends on hidden agents (-without +with):\n%s", diff)
	}
}

// A word that nearly all documents have does not make a document match, unless the documents have
// no other word of the query.
func TestCommonWordsMatchNothingBesideRareOnes(t *testing.T) {
	changes := map[Key]*Entry{}
	for i := range commonFrom + 100 {
		description := "Serves customers."
		if i == 7 {
			description = "Serves customers with zeppelins."
		}
		e := describedEntry(t, Key{"a", fmt.Sprintf("agent-%04d", i)}, description)
		changes[e.Key] = e
	}
	s := withEntries(&Snapshot{}, changes)
	for raw, want := range map[string]int{"q=customers+zeppelins": 1, "q=customers": len(changes), "q=customers+unheard": len(changes)} {
		q, err := ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		if page := s.Search(q, nil); page.Total != want {
			t.Errorf("%s finds %d agents, want %d", raw, page.Total, want)
		}
	}
}

// The successor of a snapshot ranks like a snapshot that is built from nothing.
func TestRankingAfterUpdates(t *testing.T) {
	words := strings.Fields("weather storm rain invoice contract translate letters flights hotels maps search code")
	random := rand.New(rand.NewPCG(3, 4))
	describe := func() string {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteString(words[random.IntN(len(words))] + " ")
		}
		return b.String()
	}
	s, model := &Snapshot{}, map[Key]*Entry{}
	for range 20 {
		changes := map[Key]*Entry{}
		for range 40 {
			key := Key{fmt.Sprintf("team-%d", random.IntN(5)), fmt.Sprintf("agent-%d", random.IntN(100))}
			if random.IntN(4) == 0 {
				changes[key] = nil
				delete(model, key)
				continue
			}
			changes[key] = describedEntry(t, key, describe())
			model[key] = changes[key]
		}
		s = withEntries(s, changes)
		for _, q := range []string{"weather", "storms and rain", "contract translate maps"} {
			want := rankedKeys(t, withEntries(&Snapshot{}, model), url.Values{"q": {q}, "limit": {"7"}}, nil)
			if diff := cmp.Diff(want, rankedKeys(t, s, url.Values{"q": {q}, "limit": {"7"}}, nil)); diff != "" {
				t.Fatalf("q=%s (-want +got):\n%s", q, diff)
			}
		}
	}
}
