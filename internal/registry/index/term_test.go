// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestFindTermFindsEachTerm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 2, 7, 100, 1000} {
		terms := make([]term, 0, size+2)
		for range size {
			terms = append(terms, term(random.Uint64()))
		}
		const last = term(math.MaxUint64)
		if size > 2 {
			terms = append(terms, 0, last)
		}
		slices.Sort(terms)
		wanted := []term{0, 1 << noteBits, last.name() - 1<<noteBits, last.name()}
		for _, t := range terms {
			wanted = append(wanted, t.name())
		}
		for range 100 {
			wanted = append(wanted, term(random.Uint64()).name())
		}
		for _, w := range wanted {
			i, found := findTerm(terms, w)
			j, _ := slices.BinarySearch(terms, w)
			want := j < len(terms) && terms[j].name() == w
			if i != j || found != want {
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

func TestOnlyClosedTermsHaveTheirRows(t *testing.T) {
	if len(closedTerms) > closedRows {
		t.Fatalf("%d closed terms in %d rows", len(closedTerms), closedRows)
	}
	for i, text := range closedTerms {
		if got := hashTerm(text); got.row() != i || !got.isClosed() {
			t.Errorf("%s is in row %d, want %d", text, got.row(), i)
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		if got := openTerm(random.Uint64() >> 10); got.isClosed() || got.frequency() != 0 {
			t.Fatalf("the open term %d is in row %d", got, got.row())
		}
	}
}

// A tag that many skills have uses up the space for the names of an agent once.
func TestRepeatedTagsLeaveRoomForOthers(t *testing.T) {
	v := itemJSON{}
	repeated := strings.Repeat("x", maxValue)
	for i := range 2 * maxNamed / maxValue {
		v.Skills = append(v.Skills, skillJSON{ID: "same", Tags: []string{repeated, "t" + strconv.Itoa(i)}})
	}
	v.Skills = append(v.Skills, skillJSON{ID: "last", Tags: []string{"rare"}})
	terms := v.terms()
	for _, want := range []string{skillTerm("same"), skillTerm("last"), tagTerm(repeated), tagTerm("rare"), tagTerm("t0")} {
		if !slices.Contains(terms, want) {
			t.Errorf("no filter finds the agent by %.20q", want)
		}
	}
}
