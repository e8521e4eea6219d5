// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Names is the set of member names of a dialect. Readers compare names exactly. A name that
// differs from a member name only in case is a mistake, or an attempt to make this server
// and a reader that ignores case see different requests.
type Names struct {
	exact  map[string]bool
	folded map[string]string
}

// NewNames returns the set of the names.
func NewNames(all ...string) Names {
	n := Names{exact: make(map[string]bool, len(all)), folded: make(map[string]string, len(all))}
	for _, name := range all {
		n.exact[name] = true
		n.folded[fold(name)] = name
	}
	return n
}

// VariantOf returns the name of the set from which name differs only in case. It returns ""
// for a name of the set, and for a name without such a counterpart.
func (n Names) VariantOf(name []byte) string {
	if n.exact[string(name)] {
		return ""
	}
	return n.folded[fold(string(name))]
}

// fold maps names that differ only in case to the same text. It also maps the letters that
// Unicode folds to ASCII letters, such as the long s (U+017F) to s.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// NameList has the names of an object in a JSON text of at most 4 GiB. It finds duplicate
// names with 8 bytes of memory for each name. A decoder of jsontext needs a map of strings,
// which is several times as large as a text of short names.
//
// An element has a hash of the name in its upper half, and the offset of the name's opening
// quotation mark in its lower half. The seed of the hash is random, so that a client cannot
// choose names with equal hashes.
type NameList []uint64

// maxPooledNames is the largest capacity of a list of names that stays in the pool.
const maxPooledNames = 1 << 10

var nameSeed = maphash.MakeSeed()

// Add appends the name whose opening quotation mark is at an offset of text.
func (l NameList) Add(text []byte, at int) NameList {
	if len(l) == cap(l) {
		more := max(len(l), 16)
		if len(l) >= maxPooledNames {
			// Each name of the rest needs a colon and, with its value, at least five bytes. This
			// bounds the number of further names. A list that grows step by step would allocate more
			// in total.
			rest := text[at:]
			more = max(min(bytes.Count(rest, []byte(":")), len(rest)/5), 16)
		}
		l = slices.Grow(l, more)
	}
	hash := maphash.Bytes(nameSeed, unquotedName(text, at))
	return append(l, hash>>32<<32|uint64(at)) // at is an index
}

// Duplicate returns the offset of the first name that is equal to an earlier one, -1 if all
// names differ. It sorts the list. The names must be those that Add has read in text.
func (l NameList) Duplicate(text []byte) int {
	slices.Sort(l)
	first := -1
	for i := 1; i < len(l); i++ {
		if l[i]>>32 != l[i-1]>>32 {
			continue
		}
		if at := offset(l[i]); (first < 0 || at < first) && hasEqual(text, l[:i], at) {
			first = at
		}
	}
	return first
}

// hasEqual reports whether the name at an offset of text is equal to a name of earlier.
// earlier is sorted by hash, and its last element has the same hash as the name. hasEqual
// therefore compares the name only with the last elements, up to the first one with another
// hash.
func hasEqual(text []byte, earlier NameList, at int) bool {
	name := unquotedName(text, at)
	hash := earlier[len(earlier)-1] >> 32
	for _, other := range slices.Backward(earlier) {
		if other>>32 != hash {
			return false
		}
		if bytes.Equal(name, unquotedName(text, offset(other))) {
			return true
		}
	}
	return false
}

func offset(element uint64) int { return int(element & (1<<32 - 1)) }

// unquotedName returns the name whose opening quotation mark is at an offset of text. If the
// name is not valid JSON, the result is incomplete, which is harmless, because the decoder
// refuses the text.
func unquotedName(text []byte, at int) []byte {
	raw := text[at : at+1+quoted(text[at+1:])]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1:max(len(raw)-1, 1)]
	}
	name, _ := jsontext.AppendUnquote(nil, raw)
	return name
}

// quoted returns the length of the string at the start of text, including its closing
// quotation mark. The opening quotation mark precedes text.
func quoted(text []byte) int {
	end := 0
	for {
		mark := bytes.IndexByte(text[end:], '"')
		if mark < 0 {
			return len(text)
		}
		escapes := 0
		for escapes < mark && text[end+mark-1-escapes] == '\\' {
			escapes++
		}
		end += mark + 1
		if escapes%2 == 0 {
			return end
		}
	}
}
