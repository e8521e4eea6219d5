// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

func TestFunctionWordsFitTheirBounds(t *testing.T) {
	if len(languages) > len(functionCounts{}) || len(languages) > 32 {
		t.Errorf("%d languages do not fit a languageSet", len(languages))
	}
	for word := range functionWords {
		if len(word) > maxFunctionWordBytes {
			t.Errorf("function word %q has %d bytes, more than maxFunctionWordBytes", word, len(word))
		}
	}
}

func TestLanguagesOfAScriptAreConsecutive(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	for _, l := range languages {
		script := scriptNameOf(l)
		if script != last && seen[script] {
			t.Errorf("a language of %s follows another script", script)
		}
		seen[script], last = true, script
	}
}

func scriptNameOf(l *language) string { return string(rune(l.script.R16[0].Lo)) }

// A stem is the same whether it is cached or not, also for words that share a place in the cache.
func TestCachedStemsEqualComputedStems(t *testing.T) {
	words := strings.Fields("invoices summarizes running translations weather Verträge rechnungen facturas contratos")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				for _, l := range languages[:4] {
					for _, word := range words {
						if got, want := l.stemOf(word), l.computeStem(word); got != want {
							t.Errorf("stem of %q is %q, want %q", word, got, want)
						}
					}
				}
			}
		})
	}
	group.Wait()
}

// If foldSimple accepts a text, its result equals NFKC with full case folding.
func TestSimpleFoldingIsFullFolding(t *testing.T) {
	texts := []string{"STRASSE Straße", "ÀÉ×÷ÿÞþ ß", "天气预报 Über", "をガー", "カ\u3099", "µ ª ½", "I\u0307", "ﬁ"}
	for r := range rune(caselessUntil) {
		if r <= unicode.MaxLatin1 || r >= caselessFrom {
			texts = append(texts, string(r), "a"+string(r)+"Z", norm.NFKC.String(string(r)))
		}
	}
	simple := 0
	for _, s := range texts {
		folded, ok := foldSimple(s)
		if !ok {
			continue
		}
		simple++
		if want := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s))); folded != want {
			t.Errorf("foldSimple(%q) = %q, want %q", s, folded, want)
		}
	}
	if simple < len(texts)/2 {
		t.Errorf("%d of %d texts are folded in the simple way", simple, len(texts))
	}
}

func TestHanCharactersAreUnspacedLetters(t *testing.T) {
	for r := range rune(unicode.MaxRune) {
		if isHan(r) && (!unicode.IsLetter(r) || !unicode.Is(unicode.Han, r)) {
			t.Fatalf("%U is not a letter of the script Han", r)
		}
		if isMark(r) != unicode.IsMark(r) {
			t.Fatalf("isMark(%U) = %t", r, isMark(r))
		}
		if want := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r); isWordRune(r) != want {
			t.Fatalf("isWordRune(%U) = %t", r, !want)
		}
	}
}

// A group is the same whether it is cached or not, also for words that share a place in the cache.
func TestGroupsOfWordsAreCached(t *testing.T) {
	words := strings.Fields("invoices summarizes running translations weather verträge rechnungen facturas contratos 天气")
	for range 3 {
		for _, word := range words {
			if diff := cmp.Diff(newGroup(word), groupOf(word)); diff != "" {
				t.Errorf("group of %q (-want +got):\n%s", word, diff)
			}
		}
	}
}
