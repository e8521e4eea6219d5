// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"strings"
	"testing"
)

// TestTextSize checks the size of texts of all lengths with each character at each place.
func TestTextSize(t *testing.T) {
	for length := 1; length <= 20; length++ {
		for at := range length {
			for c := range 256 {
				text := strings.Repeat("é", length)[:at] + string([]byte{byte(c)}) + strings.Repeat("a", length-at-1)
				want := length
				switch {
				case strings.ContainsRune("\b\t\n\f\r\"\\", rune(c)):
					want++
				case c < ' ':
					want += len(`\u0000`) - 1
				}
				if got := textSize(text); got != want {
					t.Fatalf("textSize(%q) = %d, want %d", text, got, want)
				}
			}
		}
	}
}

func BenchmarkTextSize(b *testing.B) {
	text := strings.Repeat("An answer of an agent. ", 64)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		textSize(text)
	}
}
