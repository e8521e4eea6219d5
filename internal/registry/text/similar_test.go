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

func isAny(int) bool { return true }

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
		if got := mistakesIn([]rune(test.word), test.right, len([]rune(test.right)), test.allowed, new(int)); got != test.want {
			t.Errorf("%s for %s with %d allowed: %d mistakes, want %d", test.word, test.right, test.allowed, got, test.want)
		}
	}
}

// A search for four words among as many words as a namespace may add, which all but agree with them, is bounded, and so
// is one among words of 58 letters. Words of others are found among those for which there are enough steps.
func TestSimilarWordsAreBounded(t *testing.T) {
	const n = 1 << 15
	words := vocabularyOf(hostileWords(strings.Repeat("abcdefghij", 3), n), hostileWords(strings.Repeat("abcdefghij", 6)[:58], n), hostileWords("weather", n), hostileWords("weahterxxxx", n), "weather invoice")
	if len(words) != 3*n+2 {
		t.Errorf("the vocabulary has %d words, want %d: words of 58 letters cannot be mistaken", len(words), 3*n+2)
	}
	steps := MaxSteps
	for _, end := range []string{"kkka", "kkak", "kakk", "akkk"} {
		Seek(strings.Repeat("abcdefghij", 3)[:26]+end, false).Similar(words, isAny, &steps)
	}
	if steps > 0 || steps < -5*maxMistaken*(1+maxStems) {
		t.Errorf("%d steps are left, want none and at most one more word", steps)
	}
	for word, want := range map[string]string{"weahter": "weather", "invoise": "invoice"} {
		steps := MaxSteps
		found := Seek(word, true).Similar(words, isAny, &steps)
		if len(found) > maxSimilar || !slices.ContainsFunc(found, func(s Similar) bool { return s.Text == want }) {
			t.Errorf("%s resembles %d words, and not %s; %d steps are left", word, len(found), want, steps)
		}
	}
	securitypage.Attempts(t, "T-WORDS", 4*n)
}

// The best words are the same in each order of the vocabulary, and absent ones cost no step.
func TestSimilarWordsAreTheBestOnes(t *testing.T) {
	words := vocabularyOf("weatherman weathers weatherproof weather wetter", hostileWords("weahterxxxx", 100))
	for query, want := range map[string]string{"weahter": "weather", "weath": "[weather weathers weatherman weatherproof]"} {
		for range 2 {
			slices.Reverse(words)
			steps := MaxSteps
			found := Seek(query, true).Similar(words, isAny, &steps)
			var texts []string
			for _, w := range found {
				texts = append(texts, w.Text)
			}
			if got := strings.Trim(fmt.Sprint(texts), "[]"); got != strings.Trim(want, "[]") {
				t.Errorf("%s resembles %s, want %s", query, got, want)
			}
		}
	}
	steps := MaxSteps
	if found := Seek("weahter", true).Similar(words, func(int) bool { return false }, &steps); len(found) != 0 || steps != MaxSteps {
		t.Errorf("absent words: %d found, %d steps", len(found), MaxSteps-steps)
	}
}

func BenchmarkSimilarWords(b *testing.B) {
	words := vocabularyOf(hostileWords(strings.Repeat("abcdefghij", 3), 1<<17))
	for b.Loop() {
		steps := MaxSteps
		for _, end := range []string{"kkka", "kkak", "kakk", "akkk"} {
			Seek(strings.Repeat("abcdefghij", 3)[:26]+end, false).Similar(words, isAny, &steps)
		}
	}
}
