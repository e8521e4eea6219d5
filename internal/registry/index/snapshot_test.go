// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// makeEntry returns an agent with the given skills. The skill x has the tag Tag-x.
func makeEntry(tb testing.TB, key Key, ready bool, skills ...string) *Entry {
	tb.Helper()
	c := card.Card{Name: "Agent " + key.Name, Description: "Works in " + key.Namespace, Version: "1.0.0", DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"}}
	for _, id := range skills {
		c.Skills = append(c.Skills, card.Skill{ID: id, Name: "Skill " + id, Description: "Does " + id, Tags: []string{"Tag-" + id}})
	}
	encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := NewEntry(Facts{Key: key, URL: "http://" + key.Name + "." + key.Namespace + "/", Ready: ready}, CardSource{Text: string(encoded)})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// withEntries returns the snapshot after changes. A nil entry removes its key.
func withEntries(s *Snapshot, changes map[Key]*Entry) *Snapshot {
	list := make([]Change, 0, len(changes))
	for _, key := range slices.SortedFunc(maps.Keys(changes), Key.compare) {
		list = append(list, Change{Key: key, After: changes[key]})
	}
	next := s.With(list)
	all := vocabulary{words: slices.Clone(s.words)}
	next.words = all.after(list, nil)
	return next
}

func snapshotOf(entries ...*Entry) *Snapshot {
	changes := make(map[Key]*Entry)
	for _, e := range entries {
		changes[e.Key] = e
	}
	return withEntries(&Snapshot{}, changes)
}

func keysOf(entries []*Entry) []string {
	keys := []string{}
	for _, e := range entries {
		keys = append(keys, e.Key.Namespace+"/"+e.Key.Name)
	}
	return keys
}

// TestSnapshotAgainstModel applies random batches of changes to a snapshot and to a plain
// map, and compares the results of queries on both.
func TestSnapshotAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	model := make(map[Key]*Entry)
	snapshot := &Snapshot{}
	for batch := range 60 {
		changes := make(map[Key]*Entry)
		for range []int{1, 7, 400}[batch%3] {
			key := Key{fmt.Sprintf("ns-%d", random.IntN(7)), fmt.Sprintf("agent-%d", random.IntN(900))}
			if random.IntN(5) < 1+batch/20 { // shrinks towards the end
				changes[key] = nil
				delete(model, key)
				continue
			}
			e := makeEntry(t, key, random.IntN(2) == 0, fmt.Sprintf("s%d", random.IntN(4)))
			e.Visibility = access.Visibility(random.IntN(int(access.VisibilityOutside) + 1))
			changes[key], model[key] = e, e
		}
		before, beforeKeys := snapshot, keysOf(snapshot.search(nil, nil, Key{}, 1<<20).Entries)
		snapshot = withEntries(snapshot, changes)
		if diff := cmp.Diff(beforeKeys, keysOf(before.search(nil, nil, Key{}, 1<<20).Entries)); diff != "" {
			t.Fatalf("batch %d changed the older snapshot (-before +after):\n%s", batch, diff)
		}
		compareWithModel(t, snapshot, model)
	}
}

func compareWithModel(t *testing.T, s *Snapshot, model map[Key]*Entry) {
	t.Helper()
	if s.size != len(model) {
		t.Fatalf("size = %d, want %d", s.size, len(model))
	}
	for i, b := range s.blocks {
		if n := len(b.entries); n == 0 || n > blockCapacity {
			t.Fatalf("block %d of %d has %d entries", i, len(s.blocks), n)
		}
	}
	caller := access.NewSet(access.VisibilityFederated, "ns-0", "ns-1", "ns-4")
	terms := hashTerms([]string{skillTerm("s1"), readyTerm(true)})
	var want []*Entry
	for _, e := range model {
		if e.VisibleTo(caller) && slices.Contains(e.terms, terms[0]) && slices.Contains(e.terms, terms[1]) {
			want = append(want, e)
		}
		if got := s.Get(e.Key); got != e {
			t.Fatalf("Get(%v) = %v, want the entry", e.Key, got)
		}
	}
	slices.SortFunc(want, func(a, b *Entry) int { return a.Key.compare(b.Key) })

	got, after := []*Entry{}, Key{}
	for {
		page := s.search(terms, caller, after, 13)
		if page.Total != len(want) {
			t.Fatalf("Total = %d, want %d", page.Total, len(want))
		}
		got = append(got, page.Entries...)
		if !page.More {
			break
		}
		after = page.Entries[len(page.Entries)-1].Key
	}
	if diff := cmp.Diff(keysOf(want), keysOf(got)); diff != "" {
		t.Fatalf("search by pages (-want +got):\n%s", diff)
	}
}

// TestSearchBoundsThePage searches agents with the largest possible cards. A page of 200
// such agents would use most of the manager's memory.
func TestSearchBoundsThePage(t *testing.T) {
	var entries []*Entry
	for i := range 9 {
		e := makeEntry(t, Key{"ns", fmt.Sprintf("a%d", i)}, true, "s")
		e.body = make([]byte, maxPageBytes/3)
		entries = append(entries, e)
	}
	entries[4].body = make([]byte, maxPageBytes+1)
	s := snapshotOf(entries...)
	var got []int
	after := Key{}
	for {
		page := s.search(nil, nil, after, maxLimit)
		got = append(got, len(page.Entries))
		if !page.More {
			break
		}
		after = page.Entries[len(page.Entries)-1].Key
	}
	if diff := cmp.Diff([]int{3, 1, 1, 3, 1}, got); diff != "" {
		t.Errorf("entries on the pages (-want +got):\n%s", diff)
	}
}

func TestSnapshotSharesBlocks(t *testing.T) {
	var entries []*Entry
	for i := range 2000 {
		entries = append(entries, makeEntry(t, Key{"ns", fmt.Sprintf("a%04d", i)}, true, "s"))
	}
	before := snapshotOf(entries...)
	after := withEntries(before, map[Key]*Entry{{"ns", "a1000"}: makeEntry(t, Key{"ns", "a1000"}, false, "s")})
	rebuilt := 0
	for _, b := range after.blocks {
		if !slices.Contains(before.blocks, b) {
			rebuilt++
		}
	}
	if rebuilt != 1 {
		t.Errorf("one change rebuilt %d of %d blocks, want 1", rebuilt, len(after.blocks))
	}
}

// Blocks of few entries do not remain, in whichever order the other entries are removed.
func TestDeletionsLeaveNoSmallBlocks(t *testing.T) {
	for name, next := range map[string]func(i int) int{
		"from the first one": func(i int) int { return i },
		"from the last one":  func(i int) int { return 1999 - i },
	} {
		var entries []*Entry
		for i := range 2000 {
			entries = append(entries, describedEntry(t, Key{"ns", fmt.Sprintf("a%04d", i)}, "text"))
		}
		s := snapshotOf(entries...)
		for i := range 2000 {
			if next(i)%20 != 0 {
				s = s.With([]Change{{Key: entries[next(i)].Key}})
			}
		}
		if len(s.blocks) > 8 || s.size != 100 {
			t.Errorf("%s: %d entries are in %d blocks", name, s.size, len(s.blocks))
		}
	}
}

func TestSnapshotNamespaces(t *testing.T) {
	s := snapshotOf(
		makeEntry(t, Key{"a", "one"}, true, "x"), makeEntry(t, Key{"a", "two"}, true, "y"), makeEntry(t, Key{"c", "three"}, false, "x"))
	public := makeEntry(t, Key{"b", "four"}, true, "x")
	public.Visibility = access.VisibilityPublic
	s = withEntries(s, map[Key]*Entry{public.Key: public})
	for name, test := range map[string]struct {
		caller *access.Set
		want   []string
	}{
		"all":                             {nil, []string{"a", "b", "c"}},
		"a caller":                        {access.NewSet(access.VisibilityPublic, "c", "d"), []string{"b", "c"}},
		"an anonymous":                    {access.NewSet(access.VisibilityPublic), []string{"b"}},
		"a caller outside of the cluster": {access.NewSet(access.VisibilityOutside), nil},
	} {
		if diff := cmp.Diff(test.want, s.Namespaces(test.caller)); diff != "" {
			t.Errorf("namespaces of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEntryTerms(t *testing.T) {
	view := itemJSON{
		identityJSON: identityJSON{Namespace: "team", Name: "find-er", DisplayName: "Finder", Description: "Sucht Bücher, 2 at a time."},
		stateJSON:    stateJSON{Ready: true},
		offerJSON: offerJSON{
			DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"Text/Plain"},
			Skills: []skillJSON{
				{ID: "books", Name: "Books", Description: "books", Tags: []string{"Public Library"}, OutputModes: []string{"application/json"}},
				{ID: "talk", Name: "Talk", Description: "talk", Tags: []string{}},
			},
		},
	}
	want := strings.Fields(`e:false i:text/plain n:team o:application/json o:text/plain r:true s:books s:talk`)
	want = append(want, "t:public library")
	got := view.terms()
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
	var words []string
	for _, field := range view.fields() {
		words = slices.AppendSeq(words, text.Words(field.Text))
	}
	slices.Sort(words)
	want = strings.Fields(`2 a at books bücher er find finder library public sucht talk team time`)
	if diff := cmp.Diff(want, slices.Compact(words)); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
