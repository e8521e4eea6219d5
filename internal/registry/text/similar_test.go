// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// vocabularyOf returns the words of the texts.
func vocabularyOf(texts ...string) (words []Word) {
	for _, s := range texts {
		for part := range slices.Chunk(strings.Fields(s), 1024) {
			Vocabulary([]Field{{Text: strings.Join(part, " ")}}, func(w Word) { words = append(words, w.Clone()) })
		}
	}
	return words
}

// hostileWords returns n words that agree with a word in all letters except some of the last ones.
func hostileWords(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%c%c%c%c ", word[:len(word)-4], 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576%26)
	}
	return b.String()
}

func TestMistakesIn(t *testing.T) {
	for _, test := range []struct {
		word, right   string
		allowed, want int
	}{
		{"weather", "weather", 1, 0},
		{"weahter", "weather", 1, 1},
		{"wether", "weather", 1, 1},
		{"weatherr", "weather", 2, 1},
		{"waethre", "weather", 2, 2},
		{"waethre", "weather", 1, 2},
		{"weat", "weather", 2, 3},
		{"recommendation", "recomendaton", 2, 2},
		{"recommendation", "recomendatons", 2, 3},
		{"strasse", "straße", 1, 2},
		{"ab", "abcd", 2, 2},
		{"abcd", "ab", 2, 2},
	} {
		s := sought{steps: new(int)}
		if got := s.mistakesIn([]rune(test.word), test.right, len([]rune(test.right)), test.allowed); got != test.want {
			t.Errorf("%s for %s with %d allowed: %d mistakes, want %d", test.word, test.right, test.allowed, got, test.want)
		}
	}
}

// A search for four words among as many words as a namespace may add, which all but agree with them, is bounded, and so
// is one among words of 58 letters. Words of others are found among those for which there are enough steps.
func TestSimilarWordsAreBounded(t *testing.T) {
	const n = 1 << 15
	words := vocabularyOf(hostileWords(strings.Repeat("abcdefghij", 3), n), hostileWords(strings.Repeat("abcdefghij", 6)[:58], n), hostileWords("weather", n), "weather invoice")
	if len(words) != 2*n+2 {
		t.Errorf("the vocabulary has %d words, want %d: words of 58 letters cannot be mistaken", len(words), 2*n+2)
	}
	steps := MaxSteps
	for _, end := range []string{"kkka", "kkak", "kakk", "akkk"} {
		SimilarWords(strings.Repeat("abcdefghij", 3)[:26]+end, false, words, &steps)
	}
	if steps > 0 || steps < -2*foundSteps {
		t.Errorf("%d steps are left, want none and at most one more word", steps)
	}
	for word, want := range map[string]string{"weahter": "weather", "invoise": "invoice"} {
		steps := MaxSteps
		found := SimilarWords(word, true, words, &steps)
		if !slices.ContainsFunc(found, func(s Similar) bool { return s.Text == want }) {
			t.Errorf("%s resembles %d words, and not %s; %d steps are left", word, len(found), want, steps)
		}
	}
	securitypage.Attempts(t, "T-WORDS", 3*n)
}

func BenchmarkSimilarWords(b *testing.B) {
	words := vocabularyOf(hostileWords(strings.Repeat("abcdefghij", 3), 1<<17))
	for b.Loop() {
		steps := MaxSteps
		for _, end := range []string{"kkka", "kkak", "kakk", "akkk"} {
			SimilarWords(strings.Repeat("abcdefghij", 3)[:26]+end, false, words, &steps)
		}
	}
}
