// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nearestOf returns a Nearest that finds the agents of order, in this order, if they are among the
// keys that the search passes to it. It stores these keys in asked.
func nearestOf(t *testing.T, asked *[]Key, order ...Key) Nearest {
	t.Helper()
	return func(keys iter.Seq[Key], n int) []Key {
		*asked = slices.Collect(keys)
		var found []Key
		for _, key := range order {
			if slices.Contains(*asked, key) && len(found) < n {
				found = append(found, key)
			}
		}
		return found
	}
}

func namesOf(page *Page) []string {
	var names []string
	for _, e := range page.Entries {
		names = append(names, e.Key.Name)
	}
	return names
}

func TestSimilarAgentsAreFusedWithThoseOfTheWords(t *testing.T) {
	changes := map[Key]*Entry{}
	key := func(name string) Key { return Key{"n", name} }
	for name, skill := range map[string]string{"both": "invoice", "words": "invoice", "meaning": "bill", "other": "weather"} {
		changes[key(name)] = makeEntry(t, key(name), name != "other", skill)
	}
	s := withEntries(&Snapshot{}, changes)
	search := func(parameters string, order ...Key) (Page, []Key) {
		q, err := ParseQuery(parameters)
		if err != nil {
			t.Fatal(err)
		}
		var asked []Key
		q.RankBySimilarity(nearestOf(t, &asked, order...))
		return s.Search(q, nil), asked
	}
	page, _ := search("q=invoice", key("both"), key("meaning"))
	if diff := cmp.Diff([]string{"both", "meaning", "words"}, namesOf(&page)); diff != "" || page.Total != 3 {
		t.Errorf("total %d (-want +got):\n%s", page.Total, diff)
	}
	if scores := scoresOf(&page); scores[0] > 1 || scores[0] < 0.9 || scores[2] >= scores[0] {
		t.Errorf("scores %v", scores)
	}
	page, asked := search("q=invoice&ready=true", key("other"), key("meaning"))
	if slices.Contains(namesOf(&page), "other") || slices.Contains(asked, key("other")) {
		t.Errorf("a search with a condition compares %v and finds %v", asked, namesOf(&page))
	}
	page, _ = search("q=blockchain", key("meaning"))
	if diff := cmp.Diff([]string{"meaning"}, namesOf(&page)); diff != "" {
		t.Errorf("a query without known words (-want +got):\n%s", diff)
	}
}

func TestFusedPagesAreComplete(t *testing.T) {
	changes := map[Key]*Entry{}
	var order []Key
	for i := range 60 {
		key := Key{"n", fmt.Sprintf("a%02d", i)}
		changes[key] = makeEntry(t, key, true, "invoice")
		if i%4 == 0 {
			order = append(order, key)
		}
	}
	s := withEntries(&Snapshot{}, changes)
	seen := map[string]int{}
	cursor := ""
	for range 20 {
		parameters := "q=invoice&limit=7"
		if cursor != "" {
			parameters += "&cursor=" + cursor
		}
		q, err := ParseQuery(parameters)
		if err != nil {
			t.Fatal(err)
		}
		var asked []Key
		q.RankBySimilarity(nearestOf(t, &asked, order...))
		page := s.Search(q, nil)
		for _, name := range namesOf(&page) {
			seen[name]++
		}
		if page.Total != 60 {
			t.Errorf("total %d, want 60", page.Total)
		}
		if cursor = page.NextCursor(); cursor == "" {
			break
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d agents on all pages, want 60", len(seen))
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("agent %s is on %d pages", name, n)
		}
	}
}
