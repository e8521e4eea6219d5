// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unaccentedBoost is the boost of a spelling without accents, compared with 1 for the word itself.
const unaccentedBoost = 0.9

// spelling has the usual replacements of a letter: without its accent, and as two letters.
type spelling struct{ plain, pair string }

// spellings has the letters that have no decomposition, and those that people also replace by two letters.
var spellings = map[rune]spelling{
	'ä': {"a", "ae"}, 'ö': {"o", "oe"}, 'ü': {"u", "ue"}, 'å': {"a", "aa"}, 'ø': {"o", "oe"},
	'æ': {"ae", "ae"}, 'œ': {"oe", "oe"}, 'þ': {"th", "th"}, 'ð': {"d", "d"}, 'đ': {"d", "d"}, 'ł': {"l", "l"}, 'ı': {"i", "i"},
	'ё': {"е", "е"}, 'й': {"й", "й"}, 'ї': {"ї", "ї"}, 'ў': {"ў", "ў"},
}

// unaccented returns the spellings of a normalized word without accents: for "österreich", "osterreich" and
// "oesterreich". It returns none for a word without accents. Latin, Greek and Cyrillic letters have accents, and marks of
// other scripts are parts of letters.
func unaccented(word string) []string {
	if !strings.ContainsFunc(word, mayHaveAccent) {
		return nil
	}
	plain := make([]byte, 0, len(word))
	pair := make([]byte, 0, len(word)+1)
	for _, r := range word {
		s, known := spellings[r]
		switch {
		case known:
			plain = append(plain, s.plain...)
			pair = append(pair, s.pair...)
		case mayHaveAccent(r):
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
			plain = utf8.AppendRune(plain, base)
			pair = utf8.AppendRune(pair, base)
		case r < 0x0300 || r > 0x036F: // not a mark that Unicode cannot compose with its letter
			plain = utf8.AppendRune(plain, r)
			pair = utf8.AppendRune(pair, r)
		}
	}
	switch {
	case string(plain) == word, len(plain) == 0:
		return nil
	case string(plain) == string(pair):
		return []string{string(plain)}
	}
	return []string{string(plain), string(pair)}
}

// mayHaveAccent reports whether a letter in lower case is Latin, Greek or Cyrillic, and not of ASCII.
func mayHaveAccent(r rune) bool { return r >= 0xDF && r < 0x0530 || r >= 0x1E00 && r < 0x2000 }

// plain returns a normalized word without accents.
func plain(word string) string {
	if forms := unaccented(word); len(forms) > 0 {
		return forms[0]
	}
	return word
}
