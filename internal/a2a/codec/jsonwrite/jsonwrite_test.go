// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonwrite

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TestString checks that String encodes each byte, at each position of a short text, like
// jsontext.AppendQuote.
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

// TestTime checks that Time writes the same as time.Time.Format.
func TestTime(t *testing.T) {
	const layout = "2006-01-02T15:04:05.000Z"
	zone := time.FixedZone("east", 5*60*60+30*60)
	for _, at := range []time.Time{
		time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC),
		time.Date(2026, 11, 23, 1, 2, 3, 999_999_999, zone),
		time.Date(2026, 11, 23, 1, 2, 3, 7_000_000, time.UTC),
		time.Date(2026, 11, 23, 1, 2, 3, 70_400_000, time.UTC),
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 123_456_789, time.UTC),
		time.Date(10000, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(-1, 1, 1, 0, 0, 0, 1, time.UTC),
	} {
		want := `x,"at":"` + at.UTC().Format(layout) + `"`
		if got := string(Time([]byte("x"), `,"at":`, at)); got != want {
			t.Errorf("Time(%v) = %s, want %s", at, got, want)
		}
	}
}

func BenchmarkString(b *testing.B) {
	s := strings.Repeat("0198c2f4-0000-7000-8000-000000000000", 2)[:36]
	var dst []byte
	for b.Loop() {
		dst = String(dst[:0], s)
	}
}
