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

// Of returns the weight of a text, in bytes. A text without many small values weighs little: if its weight is below enough for sure, the
// result may be more than the weight.
func Of(text []byte, enough int64) int64 {
	return Except(text, enough, "")
}

// Except is like Of for a text in which the values of the members kept stay text, and weigh nothing: those in objects and lists that are the
// whole text, the values of members under, or elements of such lists. Members with the same name elsewhere weigh as others do.
func Except(text []byte, enough int64, kept string, under ...string) int64 {
	most := object*int64(bytes.Count(text, []byte{'{'})) + element*int64(bytes.Count(text, []byte{','})+bytes.Count(text, []byte{'['}))
	if most <= enough {
		return most
	}
	var weight int64
	// open has whether each open object or list is in one of these places, and isUnder whether the next value would be.
	var open []bool
	isUnder := true
	for at := 0; at < len(text); at++ {
		isInside := len(open) == 0 || open[len(open)-1]
		switch text[at] {
		case '"':
			end := at + quoted(text[at:])
			value := end + len(text[end:]) - len(bytes.TrimLeft(text[end:], " \t\r\n:"))
			name := string(bytes.Trim(text[at:end], `"`))
			at = end - 1
			switch isMember := bytes.IndexByte(text[end:value], ':') >= 0; {
			case isMember && isInside && kept != "" && name == kept:
				at = value + nested(text[value:]) - 1
			case isMember:
				isUnder = slices.Contains(under, name)
				at = value - 1
			}
		case '{', '[':
			weight += element
			if text[at] == '{' {
				weight += object - element
			}
			open = append(open, isInside && isUnder)
			isUnder = true
		case ',':
			weight += element
			isUnder = true
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		}
	}
	return weight
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

// Elements returns the number of elements and members of a text, also of objects and lists that are empty. A decoder with the types of
// Kubernetes allocates hundreds of bytes for each element of a list, also for a null or a number.
func Elements(text []byte) int {
	var c Counter
	c.Add(text)
	return c.elements
}

// Counter counts the weight of texts that arrive in pieces: JSON, or events of a stream with JSON. The zero value is ready. One goroutine
// at a time may use it.
type Counter struct {
	weight   int64
	elements int
	// isQuoted is true inside of a string, and isEscaped after a backslash in it.
	isQuoted, isEscaped bool
}

// Weight returns the weight of the pieces so far, in bytes.
func (c *Counter) Weight() int64 { return c.weight }

// Add adds a piece.
func (c *Counter) Add(piece []byte) {
	for _, b := range piece {
		switch {
		case b == '\n', b == '\r':
			// JSON has no line end in a string, not even an escaped one: it is the end of text that is no JSON.
			c.isQuoted = false
			c.isEscaped = false
		case c.isEscaped:
			c.isEscaped = false
		case c.isQuoted:
			c.isEscaped = b == '\\'
			c.isQuoted = b != '"'
		case b == '"':
			c.isQuoted = true
		case b == '{':
			c.weight += object
			c.elements++
		case b == ',', b == '[':
			c.weight += element
			c.elements++
		}
	}
}
