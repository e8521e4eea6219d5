// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"iter"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWordBytes bounds a word, in bytes. A longer run of letters, such as a blob in base64,
// is not a word.
const maxWordBytes = 64

// Normalize returns the form in which texts are compared: NFKC and full case folding (Unicode,
// section 3.13). It keeps combining marks: "é" and "e" differ, but the composed and the decomposed
// "é" are equal.
func Normalize(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	if folded, ok := foldSimple(s); ok {
		return folded
	}
	// The second NFKC is necessary, because case folding may return a text that is not in NFKC, for
	// example for U+0390.
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// Bounds of a range of characters without case, which contains those of Chinese and Japanese. The
// Hangul syllables of Korean are outside of the range.
const (
	caselessFrom  = 0x2E80
	caselessUntil = 0xA640
)

// foldSimple is a fast form of Normalize for texts in NFKC that have only characters of Latin-1 and characters from
// caselessFrom to caselessUntil. It returns false for any other text. It costs a small part of cases.Fold, and does not
// allocate memory for a text without upper case.
func foldSimple(s string) (string, bool) {
	folds := 0
	for _, r := range s {
		switch {
		case r >= caselessFrom && r < caselessUntil:
		case r > unicode.MaxLatin1:
			return "", false
		case r != foldLatin1(r) || r == 'ß':
			folds++
		}
	}
	if folds > 0 {
		out := make([]byte, 0, len(s))
		for _, r := range s {
			if r == 'ß' {
				out = append(out, "ss"...)
			} else {
				out = utf8.AppendRune(out, foldLatin1(r))
			}
		}
		s = string(out)
	}
	return s, norm.NFKC.IsNormalString(s)
}

// foldLatin1 returns the lower case of an upper case letter of Latin-1, and any other character
// unchanged.
func foldLatin1(r rune) rune {
	if 'A' <= r && r <= 'Z' || 'À' <= r && r <= 'Þ' && r != '×' {
		return r + 'a' - 'A'
	}
	return r
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Words yields the normalized words of a text in their order. A word is a run of letters, digits
// and combining marks. After all words, it yields the parts of compound identifiers such as
// getWeather, and words with a short part before a hyphen as one word: "email" for "e-mail". Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are written with few or no
// spaces. For a run of their characters, Words yields each pair of neighboring characters instead,
// or the character itself if the run has only one.
func Words(s string) iter.Seq[string] { return wordsOf(compose(s, maxDocumentBytes)) }

// usualText bounds the texts that compose normalizes as a whole, in bytes. It is the fastest way.
const usualText = 4 << 10

// compose returns the first most bytes of a text in NFKC. It normalizes little more of the text, because a text in NFKC can
// be many times as long as before.
func compose(s string, most int) string {
	s = firstBytes(s, most)
	if isASCII(s) {
		return s
	}
	s = strings.ToValidUTF8(s, " ")
	if len(s) <= usualText {
		return firstBytes(norm.NFKC.String(s), most)
	}
	all := norm.NFKC.Reader(strings.NewReader(s))
	composed, _ := io.ReadAll(io.LimitReader(all, int64(most)+utf8.UTFMax)) // a text has no errors
	return firstBytes(string(composed), most)
}

// firstBytes returns the first most bytes of a text, without a part of a character at their end.
func firstBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// wordsOf yields the words of a text in NFKC, in the order that Words describes.
func wordsOf(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range compounds(s) {
			if !words(Normalize(part), yield) {
				return
			}
		}
		if !strings.ContainsAny(s, "-‐") {
			return
		}
		for _, found := range hyphenated.FindAllStringSubmatch(s, -1) {
			if !words(Normalize(found[1]+found[2]), yield) {
				return
			}
		}
	}
}

// hyphenated matches a word whose first part, before a hyphen, has one or two letters.
var hyphenated = regexp.MustCompile(`(?:^|[^\pL\pN\pM-])(\pL{1,2})[-‐](\pL{2,})`)

// compounds yields the text, and then the parts of each compound identifier in camel case. The text
// must not be case-folded, because case folding removes camel case.
func compounds(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(s) {
			return
		}
		start := -1
		compound := false
		var last rune
		for at, r := range s {
			switch {
			case !isWordRune(r):
				if compound && !yield(s[start:at]) {
					return
				}
				start = -1
				compound = false
			case start < 0:
				start = at
			case unicode.IsUpper(r) && unicode.IsLower(last):
				if !yield(s[start:at]) {
					return
				}
				start = at
				compound = true
			}
			last = r
		}
		if compound {
			yield(s[start:])
		}
	}
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return isHan(r) || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// words yields the words of a normalized text. It returns false if yield has returned false.
func words(s string, yield func(string) bool) bool {
	for start := 0; start < len(s); {
		r, size := utf8.DecodeRuneInString(s[start:])
		if !isWordRune(r) {
			start += size
			continue
		}
		unspaced := isUnspaced(r)
		end := start + size
		for end < len(s) {
			r, size := utf8.DecodeRuneInString(s[end:])
			if !isWordRune(r) || !isMark(r) && isUnspaced(r) != unspaced {
				break
			}
			end += size
		}
		run := s[start:end]
		start = end
		switch {
		case unspaced:
			if !pairs(run, yield) {
				return false
			}
		case len(run) > maxWordBytes:
		case !yield(run):
			return false
		}
	}
	return true
}

// pairs yields each pair of neighboring characters of a run, or the character itself if the run has
// only one. A character includes its combining marks. pairs returns false if yield has returned
// false.
func pairs(run string, yield func(string) bool) bool {
	previous := -1
	for at := 0; at < len(run); {
		next := at
		for next < len(run) {
			r, size := utf8.DecodeRuneInString(run[next:])
			if next > at && !isMark(r) {
				break
			}
			next += size
		}
		single := previous < 0 && next == len(run)
		if first := max(previous, 0); (single || previous >= 0) && next-first <= maxWordBytes && !yield(run[first:next]) {
			return false
		}
		previous = at
		at = next
	}
	return true
}

// isUnspaced reports whether text in the script of a character has few or no spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0E00 && (isHan(r) || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー')
}

// isHan reports whether a character is in the largest Unicode block of Chinese characters, which contains only letters.
func isHan(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF }

// isMark is a form of unicode.IsMark that is fast for frequent characters. The first mark is
// U+0300.
func isMark(r rune) bool { return r >= 0x0300 && !isHan(r) && unicode.IsMark(r) }
