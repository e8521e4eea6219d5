// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// madeUp returns a text of n words, the first of which has a number.
func madeUp(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, "zq%c%c%c%cx ", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576)
	}
	return b.String()
}

// Words that are deleted are forgotten, also if they come and go.
func TestVocabularyForgets(t *testing.T) {
	v := vocabulary{}
	var last *Entry
	become := func(i int) {
		next := describedEntry(t, Key{"team", "agent"}, madeUp(i, 2))
		v.after([]Change{{Key: next.Key, Before: last, After: next}}, nil)
		last = next
	}
	for i := range 2000 {
		become(2 * i)
	}
	for i := range 20_000 {
		become(i % 3 * 2)
	}
	if len(v.words) > 2*minStale || len(v.counts) > 2*minStale+100 {
		t.Errorf("after 22,000 changes of an agent, the vocabulary has %d words and %d terms", len(v.words), len(v.counts))
	}
	many := describedEntry(t, Key{"team", "many"}, madeUp(5000, 3000))
	before := len(v.words)
	v.after([]Change{{Key: many.Key, After: many}}, nil)
	if added := len(v.words) - before; added > 2*maxOwnWords {
		t.Errorf("one agent adds %d words, want at most %d", added, maxOwnWords)
	}
}

// Words of a tenant keep no word of others from being found with a mistake.
func TestVocabularyOfATenant(t *testing.T) {
	var many []*Entry
	for i := range maxVocabulary/maxOwnWords + 1 {
		many = append(many, describedEntry(t, Key{"hostile", fmt.Sprintf("a-%d", i)}, madeUp(i*maxOwnWords, maxOwnWords)))
	}
	for name, hostile := range map[string][]*Entry{
		"many words":           many,
		"more than it may add": {describedEntry(t, Key{"hostile", "a"}, madeUp(0, 2*maxOwnWords)+"weather invoice")},
		"longer words":         {describedEntry(t, Key{"hostile", "a"}, "the weathers and the invoices of the user")},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(append(hostile, describedEntry(t, Key{"team", "main"}, "weather invoice"))...)
			for mistaken, want := range map[string]string{"weahter": "weather", "invoise": "invoice"} {
				q, err := ParseQuery("q=" + mistaken)
				if err != nil {
					t.Fatal(err)
				}
				got := s.Search(q, access.NewSet(access.VisibilityPublic, "team")).Corrections
				if diff := cmp.Diff([]Correction{{mistaken, []string{want}}}, got); diff != "" {
					t.Errorf("among %d words: corrections (-want +got):\n%s", len(s.words), diff)
				}
			}
		})
	}
}
