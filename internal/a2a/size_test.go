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

// TestSizesCountEscapes checks that each text of an object is counted as it is in JSON.
func TestSizesCountEscapes(t *testing.T) {
	const length = 1 << 20
	text := strings.Repeat("\x01", length)
	part := func(set func(*Part)) func() int {
		return func() int {
			p := &Part{}
			set(p)
			return p.Size()
		}
	}
	for name, size := range map[string]func() int{
		"text":                 part(func(p *Part) { p.Text = text }),
		"URL":                  part(func(p *Part) { p.URL = text }),
		"file name":            part(func(p *Part) { p.Filename = text }),
		"media type":           part(func(p *Part) { p.MediaType = text }),
		"extension":            (&Message{Extensions: []string{text}}).Size,
		"reference":            (&Message{ReferenceTasks: []string{text}}).Size,
		"name":                 (&Artifact{Name: text}).Size,
		"description":          (&Artifact{Description: text}).Size,
		"artifact's extension": (&Artifact{Extensions: []string{text}}).Size,
		"push URL":             PushConfig{URL: text}.Size,
		"push token":           PushConfig{Token: text}.Size,
	} {
		if got := size(); got < 6*length {
			t.Errorf("%s: %d bytes, want %d", name, got, 6*length)
		}
	}
}
