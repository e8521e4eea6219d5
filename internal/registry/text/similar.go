// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is a word of a vocabulary. Stem is its stem in the language of its document, or the word itself.
type Word struct {
	Text, Stem string
	plain      string
	// letters and stemLetters are the numbers of letters of plain and of Stem.
	letters, stemLetters uint8
}

func newWord(word, stem string) Word {
	w := Word{Text: word, Stem: stem, plain: plain(word)}
	w.letters = lettersOf(w.plain)
	w.stemLetters = lettersOf(stem)
	return w
}

func lettersOf(word string) uint8 {
	return uint8(min(utf8.RuneCountInString(word), math.MaxUint8)) //nolint:gosec // min bounds it
}

// Clone returns a copy that does not retain the text of which the word is a part.
func (w *Word) Clone() Word {
	c := *w
	c.Text = strings.Clone(w.Text)
	c.Stem = strings.Clone(w.Stem)
	c.plain = strings.Clone(w.plain)
	return c
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
	// maxMistaken bounds the letters of a word that can resemble another one, and maxStems the stems of a word of a query
	// that are compared.
	maxMistaken = 32
	maxStems    = 4
	// MaxSteps bounds the time of one search for similar words, in numbers of letters that it compares.
	MaxSteps = 8 << 20
	// maxSimilar bounds the similar words of a word.
	maxSimilar = 8
)

// Vocabulary calls add for each word of the fields that a mistaken word can resemble, with repetition. It ignores words
// with digits. The languages of the stems are those that Analyze detects.
func Vocabulary(fields []Field, add func(Word)) {
	space := analyses.Get().(*analysis)
	defer space.release()
	space.analyze(fields, func(word, stem string, _ uint8) {
		if isMistakable(word) {
			add(newWord(word, stem))
		}
	})
}

func isMistakable(word string) bool {
	letters := utf8.RuneCountInString(word)
	return letters > 1 && letters <= maxMistaken && !strings.ContainsFunc(word, unicode.IsDigit)
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

// compare orders the words that resemble a word, the most similar one first.
func (s Similar) compare(other Similar) int {
	return cmp.Or(cmp.Compare(s.way, other.way), cmp.Compare(len(s.plain), len(other.plain)), strings.Compare(s.Text, other.Text))
}

// Sought is a word of a query for which similar words are sought, without accents, and its stems in languages of its script.
// prefix is the word if it also finds longer words, or "". allowed is the number of mistakes that the word may have.
type Sought struct {
	plain   []rune
	prefix  string
	stems   [][]rune
	allowed int
}

// Seek returns the search for the words that a word of a query resembles. isLast is true for the last word of the query. A word
// resembles the words that one or two mistakes turn into it, and the words that begin with it. A mistake is a missing,
// additional or other letter, or two letters that are exchanged. The first letter is never mistaken. A single character of a
// script without spaces resembles the pairs that contain it.
func Seek(word string, isLast bool) *Sought {
	if !isMistakable(word) && utf8.RuneCountInString(word) > 1 {
		return &Sought{}
	}
	of := &Sought{plain: []rune(plain(word)), prefix: plain(word)}
	if len(of.plain) < minPrefix && (!isLast || len(of.plain) < minLastPrefix) {
		of.prefix = ""
	}
	if len(of.plain) < minMistaken {
		return of
	}
	of.allowed = 1
	if len(of.plain) >= minTwice {
		of.allowed = 2
	}
	for _, f := range groupOf(word)[1:] {
		if stem := []rune(f.Text); len(stem) >= minMistaken && len(of.stems) < maxStems {
			of.stems = append(of.stems, stem)
		}
	}
	return of
}

// Similar returns the best of the words that the word resembles, the most similar one first, all of which resemble it in the
// same way. It ignores the words of the vocabulary for whose indexes isPresent returns false: they change neither the result
// nor the steps.
//
// Similar subtracts the letters that it compares from steps, which is MaxSteps for a new search, and ignores the rest of the
// vocabulary when none are left.
func (s *Sought) Similar(vocabulary []Word, isPresent func(i int) bool, steps *int) []Similar {
	var best []Similar
	for i := range vocabulary {
		if *steps <= 0 {
			break
		}
		w := &vocabulary[i]
		if !isPresent(i) || !s.MayResemble(w) {
			continue
		}
		way, found := s.resembles(w, steps)
		if !found {
			continue
		}
		if len(best) > 0 && way < best[0].way {
			best = best[:0]
		}
		next := Similar{w, way}
		at, isKnown := slices.BinarySearchFunc(best, next, Similar.compare)
		if isKnown || at == maxSimilar || len(best) > 0 && way > best[0].way {
			continue
		}
		best = slices.Insert(best[:min(len(best), maxSimilar-1)], at, next)
	}
	return best
}

// MayResemble reports whether the word may resemble a word. It compares their first letters and their lengths.
func (s *Sought) MayResemble(w *Word) bool {
	if len(s.plain) == 0 {
		return false
	}
	first, size := utf8.DecodeRuneInString(w.plain)
	if len(s.plain) == 1 && isUnspaced(s.plain[0]) {
		second, _ := utf8.DecodeRuneInString(w.plain[size:])
		return first == s.plain[0] || second == s.plain[0]
	}
	if first != s.plain[0] || isUnspaced(first) {
		return false
	}
	if s.prefix != "" && strings.HasPrefix(w.plain, s.prefix) || s.allowed > 0 && isNear(int(w.letters), len(s.plain), s.allowed) {
		return true
	}
	return slices.ContainsFunc(s.stems, func(stem []rune) bool { return isNear(int(w.stemLetters), len(stem), 1) })
}

func isNear(a, b, distance int) bool { return a <= b+distance && a >= b-distance }

// resembles reports whether and how the word resembles a word that it may resemble.
func (s *Sought) resembles(w *Word, steps *int) (way int, found bool) {
	if len(s.plain) == 1 && isUnspaced(s.plain[0]) {
		return isPrefix, true
	}
	if s.allowed > 0 {
		mistakes := mistakesIn(s.plain, w.plain, int(w.letters), s.allowed, steps)
		for _, stem := range s.stems {
			if mistakes > 1 && mistakesIn(stem, w.Stem, int(w.stemLetters), 1, steps) <= 1 {
				mistakes = 1
			}
		}
		if mistakes <= 1 {
			return oneMistake, true
		}
		if mistakes <= s.allowed {
			return twoMistakes, true
		}
	}
	return isPrefix, s.prefix != "" && strings.HasPrefix(w.plain, s.prefix)
}

// mistakesIn returns the number of mistakes that turn right, which has a number of letters, into word (optimal string
// alignment), or allowed+1 if there are more than allowed. It compares each letter only with those that are at most allowed
// places away, and subtracts these comparisons from steps.
func mistakesIn(word []rune, right string, letters, allowed int, steps *int) int {
	more := allowed + 1
	if !isNear(letters, len(word), allowed) {
		return more
	}
	var space [3][maxWordBytes + 2]int
	before := &space[0]
	last := &space[1]
	row := &space[2]
	for i := range more {
		last[i] = i
	}
	last[more] = more
	n := 0
	previous := rune(0)
	for _, r := range right {
		n++
		from := max(1, n-allowed)
		to := min(len(word), n+allowed)
		row[from-1] = more
		if from == 1 {
			row[0] = n
		}
		least := row[from-1]
		for i := from; i <= to; i++ {
			own := word[i-1]
			cost := 1
			if own == r {
				cost = 0
			}
			row[i] = min(last[i-1]+cost, last[i]+1, row[i-1]+1)
			if i > 1 && n > 1 && own == previous && word[i-2] == r {
				row[i] = min(row[i], before[i-2]+1)
			}
			least = min(least, row[i])
		}
		*steps -= to - from + 1
		if least > allowed {
			return more
		}
		row[to+1] = more
		before, last, row = last, row, before
		previous = r
	}
	return min(last[len(word)], more)
}
