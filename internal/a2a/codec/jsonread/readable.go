// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"bytes"
	"strconv"
)

// MaxValueDepth is the maximum nesting of objects and arrays in data and metadata. In protobuf,
// each level of an object is three nested messages, and the libraries for C++, Python and Java
// read at most 100.
const MaxValueDepth = 30

// maxDigits is the length up to which a number without an exponent is in the range of a double.
const maxDigits = 308

// Unreadable returns why some client could not read a valid JSON value, "" if every client can.
// Many decoders read numbers as doubles, and fail for one that is out of their range. A value that
// a store gets must pass this check: otherwise each response with the value, such as a page of
// tasks, fails as a whole for everyone who reads it.
//
// A Reader refuses the other values that clients cannot read when it reads the text: invalid
// UTF-8, lone surrogates and duplicate names.
func Unreadable(value []byte) string {
	depth := 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			i += quoted(value[i+1:])
		case c == '{' || c == '[':
			depth++
			if depth > MaxValueDepth {
				return "is nested deeper than " + strconv.Itoa(MaxValueDepth) + " levels"
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			number := value[i : i+numberLength(value[i:])]
			if !isDouble(number) {
				return "must not have a number beyond 1.8e308, the range of a double"
			}
			i += len(number) - 1
		}
	}
	return ""
}

// numberLength returns the length of the number at the start of text.
func numberLength(text []byte) int {
	end := bytes.IndexAny(text, ",]} \t\r\n")
	if end < 0 {
		return len(text)
	}
	return end
}

// isDouble reports whether a number is in the range of a double.
func isDouble(number []byte) bool {
	if len(number) <= maxDigits && !bytes.ContainsAny(number, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err == nil
}
