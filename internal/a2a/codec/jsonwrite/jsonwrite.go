// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonwrite appends JSON values and members for all JSON codecs. The name parameter
// of a member is the whole text before its value, such as `,"taskId":`.
//
// It allocates only when dst grows, and depends on no protocol.
package jsonwrite

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
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

// plain reports whether s is ASCII without characters that need escapes, like ids and most
// words. It compares eight bytes at a time. If the length is no multiple of eight, the last
// eight bytes overlap those before them.
func plain(s string) bool {
	if len(s) < 8 {
		return plainBytes(s)
	}
	for i := 0; i <= len(s)-8; i += 8 {
		if suspect(s[i:i+8]) && !plainBytes(s[i:i+8]) {
			return false
		}
	}
	last := s[len(s)-8:]
	return !suspect(last) || plainBytes(last)
}

// suspect reports whether one of eight bytes may need an escape or is not ASCII. It may
// return true for harmless bytes, but never returns false for a byte that needs an escape
// or is not ASCII.
func suspect(s string) bool {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	w := binary.LittleEndian.Uint64([]byte(s)) // without a copy, because the bytes do not escape
	quote := w ^ ('"' * ones)
	slash := w ^ ('\\' * ones)
	// The top bit of a byte of the result is set if it is set in w, if the byte is below a
	// space, or if the byte is zero in quote or slash. A borrow may also set the top bit of
	// the next byte, which does not change whether any is set.
	return (w|(w-' '*ones)|(quote-ones)|(slash-ones))&tops != 0
}

func plainBytes(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Member appends a string member.
func Member(dst []byte, name, value string) []byte {
	return String(append(dst, name...), value)
}

// Optional appends a string member, unless the value is empty.
func Optional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return Member(dst, name, value)
}

// Strings appends an array member, unless the array is empty.
func Strings(dst []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return dst
	}
	return Array(append(dst, name...), values, String)
}

// Array appends an array. appendElement appends each element.
func Array[T any](dst []byte, elements []T, appendElement func(dst []byte, element T) []byte) []byte {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendElement(dst, e)
	}
	return append(dst, ']')
}

// ArrayOf appends an array like Array, but passes its elements as pointers.
func ArrayOf[T any](dst []byte, elements []T, appendElement func(dst []byte, element *T) []byte) []byte {
	dst = append(dst, '[')
	for i := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendElement(dst, &elements[i])
	}
	return append(dst, ']')
}

// Bool appends a boolean member.
func Bool(dst []byte, name string, b bool) []byte {
	dst = append(dst, name...)
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// Int appends an integer member.
func Int(dst []byte, name string, n int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(n), 10)
}

// Bytes appends a string of standard base64 with padding.
func Bytes(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}

// Time appends a time member in UTC with milliseconds, unless the time is zero.
func Time(dst []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(append(dst, name...), '"')
	dst = appendTime(dst, t)
	return append(dst, '"')
}

// appendTime appends a time in UTC, in the layout 2006-01-02T15:04:05.000Z. Package time has
// fast code only for RFC 3339, so appendTime adds the milliseconds to that.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	const digits = "0123456789"
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(dst[:len(dst)-len("Z")], '.', digits[ms/100], digits[ms/10%10], digits[ms%10], 'Z')
}

// Metadata appends the member "metadata", unless it is empty.
func Metadata(dst []byte, metadata a2a.Object) []byte {
	if len(metadata) == 0 {
		return dst
	}
	dst = append(dst, `,"metadata":`...)
	return append(dst, metadata...)
}
