// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFindTermFindsEachTerm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 2, 7, 100, 1000} {
		terms := make([]term, 0, size+2)
		for range size {
			terms = append(terms, term(random.Uint64()))
		}
		if size > 2 {
			terms = append(terms, 0, math.MaxUint64)
		}
		slices.Sort(terms)
		wanted := append(slices.Clone(terms), 0, 1, math.MaxUint64-1, math.MaxUint64)
		for range 100 {
			wanted = append(wanted, term(random.Uint64()))
		}
		for _, w := range wanted {
			i, found := findTerm(terms, w)
			if j, want := slices.BinarySearch(terms, w); i != j || found != want {
				t.Fatalf("findTerm(%d terms, %d) = %d, %t, want %d, %t", len(terms), w, i, found, j, want)
			}
		}
	}
}

func TestHashOfAWordIsTheHashOfItsTerm(t *testing.T) {
	for _, word := range []string{"", "weather", "天气", "a word that is longer than the words of texts are, by some more characters than eighty"} {
		if got, want := hashWord(word), hashTerm(wordTerm(word)); got != want {
			t.Errorf("hashWord(%q) = %d, want %d", word, got, want)
		}
	}
}
