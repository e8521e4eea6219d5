// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
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
	// function are frequent words that carry no topic: they tell languages of one script
	// apart, and a query leaves them out.
	function map[string]bool
}

// languages has the default of each script before the other languages of it.
var languages = []*language{
	{unicode.Latin, english.Stem, wordSet("a an the of and or to in for with on at by from is are was be it its this that these which what who how can do does i me my you your we our find agent")},
	{unicode.Latin, german.Stem, wordSet("der die das den dem des ein eine einen einem einer und oder von zu zum zur in im mit auf für ist sind war wird werden nicht auch aus bei nach wie was wer ich mir mich du")},
	{unicode.Latin, french.Stem, wordSet("le la les un une des de du et ou à au aux en dans pour par sur avec est sont qui que quoi ce cette ces il elle je tu nous vous mon ma mes votre vos ne")},
	{unicode.Latin, spanish.Stem, wordSet("el la los las un una unos unas de del y o a al en para por con es son que qué quien como cómo este esta estos estas su sus mi mis se lo no yo tú puede")},
	{unicode.Latin, italian.Stem, wordSet("il lo la i gli le un uno una di del della dei delle e o a al alla in nel nella per con su da dal è sono che chi come questo questa questi mi ti si non")},
	{unicode.Latin, portuguese.Stem, wordSet("o a os as um uma uns umas de do da dos das e ou em no na nos nas para por pelo pela com é são que quem como este esta seu sua meu minha se não ao")},
	{unicode.Latin, dutch.Stem, wordSet("de het een en of van voor met op in naar uit bij is zijn was wordt worden niet ook aan als wat wie hoe dit dat deze die ik mij je jij wij uw kan")},
	{unicode.Latin, swedish.Stem, wordSet("en ett den det de och eller av för med på i till från är var inte som vad vem hur jag mig du vi ni min din kan om att")},
	{unicode.Latin, danish.Stem, wordSet("en et den det de og eller af for med på i til fra er var ikke som hvad hvem hvordan jeg mig du vi min din kan om at")},
	{unicode.Latin, norwegian.Stem, wordSet("en et ei den det de og eller av for med på i til fra er var ikke som hva hvem hvordan jeg meg du vi min din kan om å")},
	{unicode.Latin, finnish.Stem, wordSet("ja tai ei on ovat oli se ne tämä nämä joka mikä kuka miten minä sinä hän me te he kun että myös voi sekä")},
	{unicode.Latin, hungarian.Stem, wordSet("a az egy és vagy nem is van vannak volt ez ezek hogy mi ki hogyan én te ő mint meg el fel de csak lehet")},
	{unicode.Latin, romanian.Stem, wordSet("un o unei unui și sau de la în din pe cu pentru este sunt nu care ce cine cum acest această aceste eu tu noi voi poate să")},
	{unicode.Latin, turkish.Stem, wordSet("bir ve veya ile için bu şu o da de mi ne kim nasıl ben sen biz siz değil olan olarak gibi daha çok")},
	{unicode.Cyrillic, russian.Stem, wordSet("и или в во на с со к по из для от до не что кто как это этот эта эти я ты мы вы он она они мой может")},
	{unicode.Arabic, arabic.Stem, wordSet("في من على إلى عن مع أو و هذا هذه التي الذي ما كيف هل لا هو هي")},
	{unicode.Tamil, tamil.Stem, wordSet("ஒரு மற்றும் அல்லது இந்த அந்த என்ன யார் எப்படி நான் நீ")},
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[Normalize(word)] = true
	}
	return set
}

// isFunctionWord reports whether a word carries no topic in a language.
func isFunctionWord(word string) bool {
	for _, l := range languages {
		if l.function[word] {
			return true
		}
	}
	return false
}

// detect returns the languages of a text, at most one for each script: the one with
// most function words among the words, or the default of the script.
func detect(words []string) map[*unicode.RangeTable]*language {
	best, most := map[*unicode.RangeTable]*language{}, map[*unicode.RangeTable]int{}
	for _, l := range languages {
		n := 0
		for _, word := range words {
			if l.function[word] {
				n++
			}
		}
		if best[l.script] == nil || n > most[l.script] {
			best[l.script], most[l.script] = l, n
		}
	}
	return best
}

// scriptOf returns the script of a word if it has languages, or nil.
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

// stemOf returns the stem of a normalized word, or the word.
func (l *language) stemOf(word string) (stem string) {
	// The stemmers are generated code that reports a slice out of range by a panic.
	defer func() {
		if recover() != nil {
			stem = word
		}
	}()
	env := snowballstem.NewEnv(word)
	l.stem(env)
	if env.Current() == "" {
		return word
	}
	return env.Current()
}
