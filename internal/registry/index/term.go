// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// term identifies a property by which searches find agents: a kind and a value. Its first 56 bits are a hash with a
// random seed, so that entries store 8 bytes for each term instead of its text. The probability that two of a million
// terms are equal by chance is below 10^-5. The last 8 bits are 0 or, in an entry, the weighted frequency of a word or a
// stem in the texts of the agent, and whether text.Vocabulary has the word.
type term uint64

const (
	noteBits     = 8
	mistakable   = 1 << (noteBits - 1)
	maxFrequency = mistakable - 1
)

// name returns the term without its frequency.
func (t term) name() term { return t &^ (1<<noteBits - 1) }

func (t term) frequency() uint8 { return uint8(t & maxFrequency) }

func (t term) isMistakable() bool { return t&mistakable != 0 }

var termSeed = maphash.MakeSeed()

// closedTerms are terms of kinds that have few values. Most agents have some of them, and most filters name some. Each
// of them has a row of its own in the signature of a block.
var closedTerms = []string{
	readyTerm(true), readyTerm(false), remoteTerm(true), remoteTerm(false),
	capabilityTerm(capabilityStreaming), capabilityTerm(capabilityPushNotifications), capabilityTerm(capabilityExtendedCard),
}

// closedRows is the number of rows that are reserved for closedTerms.
const closedRows = 8

// row returns the row of the term in the signature of a block.
func (t term) row() int { return int(t >> (64 - rowBits)) }

// isClosed reports whether no other term has the row of the term.
func (t term) isClosed() bool { return t.row() < closedRows }

// hashTerm returns the term for a text of the form kind:value.
func hashTerm(name string) term {
	if i := slices.Index(closedTerms, name); i >= 0 {
		return term(i) << (64 - rowBits)
	}
	return openTerm(maphash.String(termSeed, name))
}

// hashWord returns the same as hashTerm(wordTerm(word)), without an allocation.
func hashWord(word string) term {
	var space [80]byte // enough for the longest word
	return openTerm(maphash.Bytes(termSeed, append(append(space[:0], wordKind...), word...)))
}

func openTerm(hash uint64) term {
	t := term(hash).name()
	if t.isClosed() {
		t |= closedRows << (64 - rowBits)
	}
	return t
}

// findTerm returns the index of a term in sorted terms, and false if it is not among them. Terms are hashes, so they
// are evenly distributed. The search starts at the index that such a term has on average, from which the term is
// usually only a few places away (interpolation search).
func findTerm(terms []term, t term) (int, bool) {
	start, _ := bits.Mul64(uint64(t), uint64(len(terms)))
	i := int(start) // below len(terms)
	for i > 0 && terms[i-1] >= t {
		i--
	}
	for i < len(terms) && terms[i] < t {
		i++
	}
	return i, i < len(terms) && terms[i].name() == t
}

func hashTerms(names []string) []term {
	terms := make([]term, len(names))
	for i, name := range names {
		terms[i] = hashTerm(name)
	}
	return terms
}

// wordKind begins the text of the term of a word.
const wordKind = "w:"

// The kinds of terms.
func skillTerm(id string) string         { return "s:" + norm.NFC.String(id) }
func tagTerm(tag string) string          { return "t:" + text.Normalize(tag) }
func wordTerm(word string) string        { return wordKind + word }
func namespaceTerm(name string) string   { return "n:" + name }
func inputModeTerm(mode string) string   { return "i:" + normalizeMode(mode) }
func outputModeTerm(mode string) string  { return "o:" + normalizeMode(mode) }
func readyTerm(ready bool) string        { return "r:" + strconv.FormatBool(ready) }
func remoteTerm(remote bool) string      { return "e:" + strconv.FormatBool(remote) }
func capabilityTerm(name string) string  { return "c:" + name }
func bindingTerm(name string) string     { return "b:" + strings.ToUpper(name) }
func protocolTerm(version string) string { return "v:" + version }
func providerTerm(name string) string    { return "p:" + text.Normalize(strings.TrimSpace(name)) }

func normalizeMode(mode string) string { return strings.ToLower(strings.TrimSpace(mode)) }

// maxNamed bounds the different providers, ids and tags by which filters find an agent, in bytes of their terms. A term can be many
// times as long as its text.
const maxNamed = 64 << 10

// named is a provider, an id or a tag, with the kind of its term.
type named struct {
	kind byte
	text string
}

// terms returns the texts of the terms by which filters find an agent, with duplicates. It does not
// return those of bindings and protocol versions, of texts that are too long for a filter, and of texts beyond maxNamed.
func (v *itemJSON) terms() []string {
	terms := []string{namespaceTerm(v.Namespace), readyTerm(v.Ready), remoteTerm(v.Remote)}
	modes := func(term func(string) string, own, fallback []string) {
		if len(own) == 0 {
			own = fallback
		}
		for _, mode := range own {
			terms = append(terms, term(mode))
		}
	}
	rest := maxNamed
	seen := make(map[named]struct{})
	add := func(kind byte, term func(string) string, value string) {
		of := named{kind, value}
		if _, isSeen := seen[of]; isSeen || rest <= 0 || len(value) > maxValue {
			return
		}
		seen[of] = struct{}{}
		next := term(value)
		rest -= len(next)
		terms = append(terms, next)
	}
	if v.Provider != nil {
		add('p', providerTerm, v.Provider.Organization)
	}
	for _, name := range v.Capabilities.names() {
		terms = append(terms, capabilityTerm(name))
	}
	modes(inputModeTerm, v.DefaultInputModes, nil)
	modes(outputModeTerm, v.DefaultOutputModes, nil)
	for i := range v.Skills {
		s := &v.Skills[i]
		add('s', skillTerm, s.ID)
		for _, tag := range s.Tags {
			add('t', tagTerm, tag)
		}
		modes(inputModeTerm, s.InputModes, v.DefaultInputModes)
		modes(outputModeTerm, s.OutputModes, v.DefaultOutputModes)
	}
	return terms
}
