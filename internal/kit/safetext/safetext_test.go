// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package safetext

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanReplacesWhatControlsATerminal(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"plain":            {"Grüße, 世界 👩\u200d💻", "Grüße, 世界 👩\u200d💻"},
		"lines and tabs":   {"a\n\tb", "a\n\tb"},
		"escape sequences": {"\x1b]0;owned\x07\x1b[2J", `\x1b]0;owned\x07\x1b[2J`},
		"C1 controls":      {"\u009b31m", `\x9b31m`},
		"carriage return":  {"real\rfake", `real\rfake`},
		"backspaces":       {"a\b\bb\x7f", `a\x08\x08b\x7f`},
		"reordering":       {"abc\u202edcba\u2066x\u2069", `abc\u202edcba\u2066x\u2069`},
		"zero width":       {"a\u200bb\ufeffc", `a\u200bb\ufeffc`},
		"tag characters":   {"a\U000e0041", `a\U000e0041`},
		"line separators":  {"a\u2028b\u2029", `a\u2028b\u2029`},
		"no characters":    {"a\ufffeb\uffff", `a\ufffeb\uffff`},
		"not UTF-8":        {"a\xffb\xc3", `a\xffb\xc3`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Clean(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got, want := Line("a\nTask: forged\tb"), `a\nTask: forged\tb`; got != want {
		t.Errorf("Line() = %q, want %q", got, want)
	}
}

func TestJSONKeepsTheValueAndEscapesWhatControlsATerminal(t *testing.T) {
	text := []byte("{\n  \"a\": \"x\u009b2J \u202e \U000e0041 ü\"\n}")
	got := JSON(text)
	if strings.ContainsAny(string(got), "\u009b\u202e\U000e0041") {
		t.Errorf("%q has control characters", got)
	}
	var want, have any
	if json.Unmarshal(text, &want) != nil || json.Unmarshal(got, &have) != nil || !reflect.DeepEqual(want, have) {
		t.Errorf("%q is not the value of %q", got, text)
	}
}

func TestClipCutsNoCharacter(t *testing.T) {
	if got := Clip("aü", 2); got != "a…" {
		t.Errorf("got %q", got)
	}
	if got := Clip("aü", 3); got != "aü" {
		t.Errorf("got %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[0m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Clean(text) {
			if !safe(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q has %U", Clean(text), r)
			}
		}
		if got := Line(text); !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t") {
			t.Fatalf("%q is not one line", got)
		}
	})
}
