// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonwrite

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestString compares the fast path with the slow one, for every character at every
// position of a word.
func TestString(t *testing.T) {
	check := func(s string) {
		t.Helper()
		want, _ := jsontext.AppendQuote([]byte("x"), s)
		if got := String([]byte("x"), s); string(got) != string(want) {
			t.Errorf("String(%q) = %s, want %s", s, got, want)
		}
	}
	for c := range 256 {
		for at := range 17 {
			for _, filler := range []string{"a", " ", "\x7f", "!", "]"} {
				check(strings.Repeat(filler, at) + string([]byte{byte(c)}) + strings.Repeat(filler, 17-at))
			}
		}
		check(string([]byte{byte(c)}))
	}
	for _, s := range []string{"", "é", "0198c2f4-0000-7000-8000-000000000000", "\u2028", "a\xe2\x82", "𝄞"} {
		check(s)
	}
}

func BenchmarkString(b *testing.B) {
	s := strings.Repeat("0198c2f4-0000-7000-8000-000000000000", 2)[:36]
	var dst []byte
	for b.Loop() {
		dst = String(dst[:0], s)
	}
}
