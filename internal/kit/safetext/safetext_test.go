// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package safetext

import (
	"bytes"
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

func TestIndentIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"a,[\"":[`, 5000) + "1" + strings.Repeat("]}", 5000)
	wide := strings.Repeat("[", 60) + strings.Repeat("0,", 1<<19) + "0" + strings.Repeat("]", 60)
	for name, text := range map[string]string{"deep": deep, "wide": wide} {
		if got, ok := Indent([]byte(text), "  "); !ok || string(got) != text {
			t.Errorf("%s: %d bytes become %d bytes, %t", name, len(text), len(got), ok)
		}
	}
	got, ok := Indent([]byte(`{"a":[1,{"b":"x"}]}`), "> ")
	if want := "{\n>   \"a\": [\n>     1,\n>     {\n>       \"b\": \"x\"\n>     }\n>   ]\n> }"; !ok || string(got) != want {
		t.Errorf("Indent() = %q, %t, want %q", got, ok, want)
	}
	if _, ok := Indent([]byte("{"), ""); ok {
		t.Error("Indent() accepts half of an object")
	}
}

// FuzzIndent expects that Indent keeps the value, and that its estimate is not below the real indentation.
func FuzzIndent(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"x\"[,"}],"c":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := Indent(text, "  ")
		if ok != json.Valid(text) {
			t.Fatalf("Indent(%q) = %t", text, ok)
		}
		if !ok {
			return
		}
		var dense, former bytes.Buffer
		if json.Compact(&dense, got) != nil || json.Compact(&former, text) != nil || dense.String() != former.String() {
			t.Fatalf("Indent(%q) = %q", text, got)
		}
		if most := len(text) + max(smallIndent, indentFactor*len(text)); len(got) > 2*most {
			t.Fatalf("%d bytes become %d", len(text), len(got))
		}
	})
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
