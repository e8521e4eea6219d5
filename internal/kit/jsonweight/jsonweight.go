// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonweight estimates the memory that decoded JSON takes beside its text.
//
// Three bytes of a text, such as {}, decode to a struct or a map of hundreds of bytes. Who charges a budget for the length of a
// text charges its weight, too.
package jsonweight

import (
	"bytes"
	"slices"
)

// The weights, in bytes. TestWeights compares them with what encoding/json and the codecs allocate, including the growth of slices.
const (
	object  = 384
	element = 48
)

// Of returns the weight of a text, in bytes. kept are the names of members whose values stay text, and weigh nothing. A text without many
// small values weighs little; if its weight is below enough for sure, the result may be more than the weight.
func Of(text []byte, enough int64, kept ...string) int64 {
	most := object*int64(bytes.Count(text, []byte{'{'})) + element*int64(bytes.Count(text, []byte{','})+bytes.Count(text, []byte{'['}))
	if most <= enough {
		return most
	}
	var c Counter
	for rest := text; len(rest) > 0; {
		begin, end := member(rest, kept)
		c.Add(rest[:begin])
		rest = rest[end:]
	}
	return c.Weight()
}

// member returns where the value of the first member with one of the names begins and ends. Both are the length of the text if there is none.
func member(text []byte, names []string) (begin, end int) {
	for at := 0; at < len(text); at++ {
		if text[at] != '"' {
			continue
		}
		length := quoted(text[at:])
		name := bytes.Trim(text[at:at+length], `"`)
		at += length
		value := at + len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n:"))
		isMember := bytes.IndexByte(text[at:value], ':') >= 0
		if isMember && slices.Contains(names, string(name)) {
			return value, value + nested(text[value:])
		}
		at--
	}
	return len(text), len(text)
}

// quoted returns the length of the string that text begins with.
func quoted(text []byte) int {
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

// nested returns the length of the object or list that text begins with, 0 for another value.
func nested(text []byte) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at += quoted(text[at:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth <= 0 {
			return at + min(1, at)
		}
	}
	return len(text)
}

// Counter counts the weight of texts that arrive in pieces: JSON, or events of a stream with JSON. The zero value is ready. One goroutine
// at a time may use it.
type Counter struct {
	weight int64
	// isQuoted is true inside of a string, and isEscaped after a backslash in it.
	isQuoted, isEscaped bool
}

// Weight returns the weight of the pieces so far, in bytes.
func (c *Counter) Weight() int64 { return c.weight }

// Add adds a piece.
func (c *Counter) Add(piece []byte) {
	for _, b := range piece {
		switch {
		case c.isEscaped:
			c.isEscaped = false
		case c.isQuoted:
			// JSON has no line end in a string: it is the end of text that is no JSON.
			c.isEscaped = b == '\\'
			c.isQuoted = b != '"' && b != '\n'
		case b == '"':
			c.isQuoted = true
		case b == '{':
			c.weight += object
		case b == ',', b == '[':
			c.weight += element
		}
	}
}
