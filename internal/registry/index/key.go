// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// position is a place in the order of the results of a search: by key or, if the search is ranked,
// by score and key. The zero value is before all entries.
type position struct {
	Key
	ranked bool
	score  float64
}

// compare orders the positions of one search: by descending score, and then by key.
func (p position) compare(other position) int {
	if c := cmp.Compare(other.score, p.score); c != 0 {
		return c
	}
	return p.Key.compare(other.Key)
}

// The first character of a decoded cursor. It identifies the format of the cursor.
const (
	cursorByKey   = "1"
	cursorByScore = "2"
)

// cursor returns the cursor (continuation token) for the results after the position. A cursor stays
// valid in later snapshots, because it names an entry and no snapshot. In a ranked search, an entry
// whose score changes between two pages may occur twice or not at all.
func (p position) cursor() string { return string(p.appendCursor(nil)) }

// appendCursor appends the result of cursor.
func (p position) appendCursor(to []byte) []byte {
	var space [160]byte // on the stack; enough for two labels and a score
	name := space[:0]
	if p.ranked {
		name = append(name, cursorByScore...)
		name = strconv.AppendUint(name, math.Float64bits(p.score), 16)
		name = append(name, '/')
	} else {
		name = append(name, cursorByKey...)
	}
	name = append(append(append(name, p.Namespace...), '/'), p.Name...)
	return base64.RawURLEncoding.AppendEncode(to, name)
}

// parseCursor returns the position after which a cursor continues, and false for a text that is not a cursor.
func parseCursor(value string) (position, bool) {
	p := position{}
	decoded, err := base64.RawURLEncoding.DecodeString(value)
	rest, known := strings.CutPrefix(string(decoded), cursorByKey)
	if !known {
		var score string
		rest, known = strings.CutPrefix(string(decoded), cursorByScore)
		score, rest, _ = strings.Cut(rest, "/")
		bits, scoreErr := strconv.ParseUint(score, 16, 64)
		p.ranked = true
		p.score = math.Float64frombits(bits)
		known = known && scoreErr == nil && p.score > 0 && !math.IsInf(p.score, 0)
	}
	namespace, name, whole := strings.Cut(rest, "/")
	p.Key = Key{Namespace: namespace, Name: name}
	return p, err == nil && known && whole && p.Valid()
}

// Key names an agent.
type Key struct{ Namespace, Name string }

func (k Key) compare(other Key) int {
	if c := strings.Compare(k.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(k.Name, other.Name)
}

// Valid reports whether an agent can have the key (RFC 1123).
func (k Key) Valid() bool { return isLabel(k.Namespace) && isLabel(k.Name) }

// maxLabel bounds a label, in bytes.
const maxLabel = 63

// isLabel reports whether text is a valid name of a namespace or an Agent: a label of RFC 1123 in lower case.
func isLabel(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '-' && i > 0 && i < len(text)-1:
		default:
			return false
		}
	}
	return text != "" && len(text) <= maxLabel
}
