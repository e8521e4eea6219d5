// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package safetext

import (
	"bytes"
	"encoding/json"
)

// Indentation adds at most indentFactor bytes for each byte of a JSON text, or smallIndent in all.
const (
	indentFactor = 4
	smallIndent  = 64 << 10
)

// Indent returns JSON on indented lines, each but the first after prefix. Text that is nested so deeply that the lines would consist
// of indentation is returned as it is, because the indentation grows with the square of the depth: 20 KB can become 100 MB. ok is
// false if the text is not JSON.
func Indent(text []byte, prefix string) (indented []byte, ok bool) {
	if !json.Valid(text) {
		return nil, false
	}
	if most := max(smallIndent, indentFactor*len(text)); indentation(text, len(prefix), most) > most {
		return text, true
	}
	var out bytes.Buffer
	err := json.Indent(&out, text, prefix, "  ") //nolint:forbidigo // the bound is above
	return out.Bytes(), err == nil
}

// indentation returns the number of bytes that the indentation of valid JSON has, or any number above most.
func indentation(text []byte, prefix, most int) int {
	size := 0
	depth := 0
	inString := false
	for i := 0; i < len(text) && size <= most; i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			size += 1 + prefix + 2*depth
		case c == '}' || c == ']':
			depth--
			size += 1 + prefix + 2*depth
		case c == ',':
			size += 1 + prefix + 2*depth
		}
	}
	return size
}
