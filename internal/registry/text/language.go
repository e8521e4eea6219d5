// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// language is a language that has a Snowball stemmer.
type language struct {
	script *unicode.RangeTable
	stem   func(*snowballstem.Env) bool
	// function has the function words (stop words), which are frequent and carry no topic. They
	// show which language of a script a text has. A query omits them.
	function string
	// offset shifts the places of words in the cache stems, so that the same word has different
	// places for different languages.
	offset uint64
}

// languages has the languages, grouped by script. The first language of a script is the default of the script.
var languages = []*language{
	{script: unicode.Latin, stem: english.Stem, function: "a an the of and or to in for with on at by from is are was be it its this that these which what who how can do does i me my you your we our find agent"},
	{script: unicode.Latin, stem: german.Stem, function: "der die das den dem des ein eine einen einem einer und oder von zu zum zur in im mit auf für ist sind war wird werden nicht auch aus bei nach wie was wer ich mir mich du"},
	{script: unicode.Latin, stem: french.Stem, function: "le la les un une des de du et ou à au aux en dans pour par sur avec est sont qui que quoi ce cette ces il elle je tu nous vous mon ma mes votre vos ne"},
	{script: unicode.Latin, stem: spanish.Stem, function: "el la los las un una unos unas de del y o a al en para por con es son que qué quien como cómo este esta estos estas su sus mi mis se lo no yo tú puede"},
	{script: unicode.Latin, stem: italian.Stem, function: "il lo la i gli le un uno una di del della dei delle e o a al alla in nel nella per con su da dal è sono che chi come questo questa questi mi ti si non"},
	{script: unicode.Latin, stem: portuguese.Stem, function: "o a os as um uma uns umas de do da dos das e ou em no na nos nas para por pelo pela com é são que quem como este esta seu sua meu minha se não ao"},
	{script: unicode.Latin, stem: dutch.Stem, function: "de het een en of van voor met op in naar uit bij is zijn was wordt worden niet ook aan als wat wie hoe dit dat deze die ik mij je jij wij uw kan"},
	{script: unicode.Latin, stem: swedish.Stem, function: "en ett den det de och eller av för med på i till från är var inte som vad vem hur jag mig du vi ni min din kan om att"},
	{script: unicode.Latin, stem: danish.Stem, function: "en et den det de og eller af for med på i til fra er var ikke som hvad hvem hvordan jeg mig du vi min din kan om at"},
	{script: unicode.Latin, stem: norwegian.Stem, function: "en et ei den det de og eller av for med på i til fra er var ikke som hva hvem hvordan jeg meg du vi min din kan om å"},
	{script: unicode.Latin, stem: finnish.Stem, function: "ja tai ei on ovat oli se ne tämä nämä joka mikä kuka miten minä sinä hän me te he kun että myös voi sekä"},
	{script: unicode.Latin, stem: hungarian.Stem, function: "a az egy és vagy nem is van vannak volt ez ezek hogy mi ki hogyan én te ő mint meg el fel de csak lehet"},
	{script: unicode.Latin, stem: romanian.Stem, function: "un o unei unui și sau de la în din pe cu pentru este sunt nu care ce cine cum acest această aceste eu tu noi voi poate să"},
	{script: unicode.Latin, stem: turkish.Stem, function: "bir ve veya ile için bu şu o da de mi ne kim nasıl ben sen biz siz değil olan olarak gibi daha çok"},
	{script: unicode.Cyrillic, stem: russian.Stem, function: "и или в во на с со к по из для от до не что кто как это этот эта эти я ты мы вы он она они мой может"},
	{script: unicode.Arabic, stem: arabic.Stem, function: "في من على إلى عن مع أو و هذا هذه التي الذي ما كيف هل لا هو هي"},
	{script: unicode.Tamil, stem: tamil.Stem, function: "ஒரு மற்றும் அல்லது இந்த அந்த என்ன யார் எப்படி நான் நீ"},
}

// languageSet is a set of languages. Bit i stands for languages[i].
type languageSet uint32

// functionWords maps each normalized function word to the languages that have it.
var functionWords = func() map[string]languageSet {
	words := map[string]languageSet{}
	for i, l := range languages {
		l.offset = uint64(i) * 0x9e3779b97f4a7c15
		for word := range strings.FieldsSeq(l.function) {
			words[Normalize(word)] |= 1 << i
		}
	}
	return words
}()

// functionCounts has, for each element of languages, the number of the language's function words in
// a text.
type functionCounts [32]int

func (c *functionCounts) add(word string) {
	if len(word) > maxFunctionWordBytes {
		return
	}
	for set := functionWords[word]; set != 0; set &= set - 1 {
		c[bits.TrailingZeros32(uint32(set))]++
	}
}

// maxFunctionWordBytes is an upper bound of the length of a function word, in bytes.
const maxFunctionWordBytes = 24

// detection has the detected language of each script in a text.
type detection []*language

// detect returns the detected language of each script: the one with the most function words in the
// text. If several have the most, it is the first of them in languages.
func (c *functionCounts) detect() detection {
	var found detection
	most := 0
	for i, l := range languages {
		switch last := len(found) - 1; {
		case last < 0 || found[last].script != l.script: // the first language of the next script
			found = append(found, l)
			most = c[i]
		case c[i] > most:
			found[last] = l
			most = c[i]
		}
	}
	return found
}

// of returns the detected language for the script of a word, or nil if no language has this script.
func (d detection) of(word string) *language {
	script := scriptOf(word)
	if script == nil {
		return nil
	}
	for _, l := range d {
		if l.script == script {
			return l
		}
	}
	return nil
}

// scriptOf returns the script of the first character of a word, or nil if no language has this
// script.
func scriptOf(word string) *unicode.RangeTable {
	r, _ := utf8.DecodeRuneInString(word)
	switch {
	case r < utf8.RuneSelf && unicode.IsLetter(r):
		return unicode.Latin
	case unicode.Is(unicode.Latin, r):
		return unicode.Latin
	case unicode.Is(unicode.Cyrillic, r):
		return unicode.Cyrillic
	case unicode.Is(unicode.Arabic, r):
		return unicode.Arabic
	case unicode.Is(unicode.Tamil, r):
		return unicode.Tamil
	default:
		return nil
	}
}

// stemOf returns the stem of a normalized word, or the word itself if it has no stem. It caches the stem. It is safe
// for concurrent use.
func (l *language) stemOf(word string) string {
	place := &stems[(maphash.String(stemSeed, word)+l.offset)%stemPlaces]
	if s := place.Load(); s != nil && s.language == l && s.word == word {
		return s.stem
	}
	word = strings.Clone(word) // a copy, because word may be part of a long text, which the cache would retain
	stem := l.computeStem(word)
	place.Store(&stemmed{l, word, stem})
	return stem
}

// computeStem returns the stem of a word, or the word itself if the stemmer fails, or returns "" or a short function word.
func (l *language) computeStem(word string) (stem string) {
	// The stemmers are generated code. If a slice is out of range, they panic.
	defer func() {
		if recover() != nil {
			stem = word
		}
	}()
	env := snowballstem.NewEnv(word)
	l.stem(env)
	stem = env.Current()
	if stem == "" || len(stem) <= maxShortStem && functionWords[stem] != 0 { // "we" is not a form of "wea"
		return word
	}
	return stem
}

// maxShortStem is the maximum length of a stem that a word has by chance in common with a function word, in bytes.
const maxShortStem = 3

// stemPlaces is the number of places for cached stems, which use at most 2 MB in total. The cache is small, because
// the texts of agents share most of their words. A word replaces the cached word that has the same place.
const stemPlaces = 1 << 13

// stemmed is a word with its stem in a language.
type stemmed struct {
	language   *language
	word, stem string
}

var (
	stems    [stemPlaces]atomic.Pointer[stemmed]
	stemSeed = maphash.MakeSeed()
)
