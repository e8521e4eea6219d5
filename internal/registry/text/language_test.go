// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"sync"
	"testing"
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
