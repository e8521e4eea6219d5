// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package headervalue writes texts of clients into the values of HTTP headers, and reads them.
package headervalue

import (
	"net/url"
	"strings"
)

// IsPlain reports whether a header can hold a text.
func IsPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// Encode returns a text unchanged if a header can hold it, and percent-encoded otherwise: a client may choose any context id. It also encodes each
// percent sign, so that different texts have different encodings.
func Encode(text string) string {
	if text == "" || text[0] != ' ' && text[len(text)-1] != ' ' && IsPlain(text) && !strings.Contains(text, "%") {
		return text
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, 3*len(text))
	for i := range len(text) {
		if c := text[i]; c > ' ' && c <= '~' && c != '%' {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

// Decode returns the text of which Encode returns the value. It returns all other values unchanged, such as one with a percent sign that no two
// digits follow.
func Decode(value string) string {
	if text, err := url.PathUnescape(value); err == nil {
		return text
	}
	return value
}
