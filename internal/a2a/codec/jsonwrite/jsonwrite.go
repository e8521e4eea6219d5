// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonwrite appends the pieces that the objects of all JSON codecs are
// made of. Where a function takes the name of a member, that is the text up to
// its value, such as `,"taskId":`.
//
// It allocates nothing beyond what it appends, and knows no protocol.
package jsonwrite

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// String appends a string. Invalid UTF-8 becomes U+FFFD.
func String(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// plain reports whether a text is ASCII of which nothing is escaped, as ids
// and most words are. It looks at eight bytes at a time.
func plain(s string) bool {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// The top bit of a byte is set where it is set in w, where w is below a
		// space, and where one of the others is zero. One byte's borrow may spoil
		// the next, which then is looked at in vain.
		if (w|(w-' '*ones)|(quote-ones)|(slash-ones))&tops != 0 && !plainBytes(s[:8]) {
			return false
		}
		s = s[8:]
	}
	return plainBytes(s)
}

func plainBytes(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Member appends a member that is a string.
func Member(dst []byte, name, value string) []byte {
	return String(append(dst, name...), value)
}

// Optional appends a member that is a string, unless that is empty.
func Optional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return Member(dst, name, value)
}

// Strings appends a member that is an array, unless that is empty.
func Strings(dst []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = append(append(dst, name...), '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, v)
	}
	return append(dst, ']')
}

// Bool appends a member that is true or false.
func Bool(dst []byte, name string, b bool) []byte {
	dst = append(dst, name...)
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// Int appends a member that is a number.
func Int(dst []byte, name string, n int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(n), 10)
}

// Bytes appends a string of padded standard base64.
func Bytes(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}

// Time appends a member that is a time, unless that is zero.
func Time(dst []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(append(dst, name...), '"')
	dst = t.UTC().AppendFormat(dst, scalar.TimeLayout)
	return append(dst, '"')
}

// Metadata appends the member metadata, unless it is absent.
func Metadata(dst []byte, metadata a2a.Object) []byte {
	if len(metadata) == 0 {
		return dst
	}
	dst = append(dst, `,"metadata":`...)
	return append(dst, metadata...)
}
