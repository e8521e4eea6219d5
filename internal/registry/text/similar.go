// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is a word of a vocabulary. Stem is its stem in the language of its document, or the word itself.
type Word struct {
	Text, Stem string
	plain      string
}

// Clone returns a copy that does not retain the text of which the word is a part.
func (w *Word) Clone() Word {
	return Word{Text: strings.Clone(w.Text), Stem: strings.Clone(w.Stem), plain: strings.Clone(w.plain)}
}

// Forms returns the forms of a word that takes the place of a similar word of a query. They have lower boosts than the
// forms of a word of the query.
func (w *Word) Forms() []Form {
	forms := []Form{{Text: w.Text, Boost: similarBoost}}
	if w.Stem != w.Text {
		forms = append(forms, Form{Text: w.Stem, Boost: similarBoost * stemBoost})
	}
	return forms
}

const (
	similarBoost = 0.6
	// Words with fewer letters than minMistaken have too many similar words. Words with at least minTwice letters may
	// have two mistakes, other words one.
	minMistaken = 4
	minTwice    = 8
	// A word with at least minPrefix letters finds longer words. The last word of a query, which its author may not have
	// completed, needs only minLastPrefix letters.
	minPrefix     = 4
	minLastPrefix = 3
)

// Vocabulary calls add for each word of the fields that a mistaken word can resemble, with repetition. It ignores words
// with digits. The languages of the stems are those that Analyze detects.
func Vocabulary(fields []Field, add func(Word)) {
	space := analyses.Get().(*analysis)
	defer space.release()
	space.analyze(fields, func(word, stem string, _ uint8) {
		if isMistakable(word) {
			add(Word{Text: word, Stem: stem, plain: plain(word)})
		}
	})
}

func isMistakable(word string) bool {
	return utf8.RuneCountInString(word) > 1 && !strings.ContainsFunc(word, unicode.IsDigit)
}

// The ways in which a word resembles another one, the best first.
const (
	oneMistake = iota
	isPrefix
	twoMistakes
)

// Similar is the similarity of a word of a query to a word of a vocabulary.
type Similar struct {
	*Word
	way int
}

// Resembles reports whether two words resemble the same word in the same way.
func (s Similar) Resembles(other Similar) bool { return s.way == other.way }

// SimilarWords returns the words of a vocabulary that a word of a query resembles, the most similar one first. isLast is
// true for the last word of the query. A word resembles the words that one or two mistakes turn into it, and the words
// that begin with it. A mistake is a missing, additional or other letter, or two letters that are exchanged. The first letter
// is never mistaken. A single character of a script without spaces resembles the pairs that contain it.
func SimilarWords(word string, isLast bool, vocabulary []Word) []Similar {
	of := sought{plain: []rune(plain(word)), minPrefix: minPrefix}
	if isLast {
		of.minPrefix = minLastPrefix
	}
	if strings.ContainsFunc(word, unicode.IsDigit) {
		return nil
	}
	for _, f := range groupOf(word)[1:] {
		of.stems = append(of.stems, []rune(f.Text))
	}
	var similar []Similar
	for i := range vocabulary {
		if way, found := of.resembles(&vocabulary[i]); found {
			similar = append(similar, Similar{&vocabulary[i], way})
		}
	}
	slices.SortFunc(similar, func(a, b Similar) int {
		return cmp.Or(cmp.Compare(a.way, b.way), cmp.Compare(len(a.plain), len(b.plain)), strings.Compare(a.Text, b.Text))
	})
	return slices.CompactFunc(similar, func(a, b Similar) bool { return a.Text == b.Text && a.Stem == b.Stem })
}

// sought is a word of a query, without accents, and its stems in all languages of its script.
type sought struct {
	plain     []rune
	stems     [][]rune
	minPrefix int
}

func (s *sought) resembles(w *Word) (way int, found bool) {
	first, size := utf8.DecodeRuneInString(w.plain)
	if len(s.plain) == 1 && isUnspaced(s.plain[0]) {
		second, _ := utf8.DecodeRuneInString(w.plain[size:])
		return isPrefix, first == s.plain[0] || second == s.plain[0]
	}
	if first != s.plain[0] || isUnspaced(first) {
		return 0, false
	}
	if len(s.plain) >= minMistaken {
		allowed := 1
		if len(s.plain) >= minTwice {
			allowed = 2
		}
		mistakes := mistakesIn(s.plain, w.plain, allowed)
		for _, stem := range s.stems {
			if len(stem) >= minMistaken && mistakes > 1 && mistakesIn(stem, w.Stem, 1) <= 1 {
				mistakes = 1
			}
		}
		if mistakes <= 1 {
			return oneMistake, true
		}
		if mistakes <= allowed {
			return twoMistakes, true
		}
	}
	return isPrefix, len(s.plain) >= s.minPrefix && strings.HasPrefix(w.plain, string(s.plain))
}

// mistakesIn returns the number of mistakes that turn right into word (optimal string alignment), or allowed+1 if there are
// more than allowed. Both begin with the same letter.
func mistakesIn(word []rune, right string, allowed int) int {
	letters := utf8.RuneCountInString(right)
	if letters > len(word)+allowed || letters < len(word)-allowed {
		return allowed + 1
	}
	var space [3][maxWordBytes + 1]int
	before := space[0][:len(word)+1]
	last := space[1][:len(word)+1]
	row := space[2][:len(word)+1]
	for i := range last {
		last[i] = i
	}
	n := 0
	previous := rune(0)
	for _, r := range right {
		n++
		row[0] = n
		least := n
		for i, own := range word {
			cost := 1
			if own == r {
				cost = 0
			}
			row[i+1] = min(last[i]+cost, last[i+1]+1, row[i]+1)
			if i > 0 && n > 1 && own == previous && word[i-1] == r {
				row[i+1] = min(row[i+1], before[i-1]+1)
			}
			least = min(least, row[i+1])
		}
		if least > allowed {
			return allowed + 1
		}
		before, last, row = last, row, before
		previous = r
	}
	return min(last[len(word)], allowed+1)
}
