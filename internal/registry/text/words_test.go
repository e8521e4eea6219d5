// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

func TestWords(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"case and punctuation":      {"Convert EUR to USD, please!", []string{"convert", "eur", "to", "usd", "please"}},
		"full case folding":         {"STRASSE Straße", []string{"strasse", "strasse"}},
		"compatibility forms":       {"ﬁle Ｃａｆｅ ①", []string{"file", "cafe", "1"}},
		"identifiers":               {"get_weather-now", []string{"get", "weather", "now"}},
		"camel case":                {"getWeather v2", []string{"getweather", "v2", "get", "weather"}},
		"composed":                  {"caf\u00e9", []string{"caf\u00e9"}},
		"decomposed":                {"cafe\u0301", []string{"caf\u00e9"}},
		"accents are kept":          {"cote côté", []string{"cote", "côté"}},
		"Hindi keeps its marks":     {"मौसम की जानकारी", []string{"मौसम", "की", "जानकारी"}},
		"Chinese":                   {"天气预报", []string{"天气", "气预", "预报"}},
		"one character":             {"茶", []string{"茶"}},
		"Japanese beside Latin":     {"PDFを翻訳", []string{"pdf", "を翻", "翻訳"}},
		"voiced mark composes":      {"カ\u3099イド", []string{"ガイ", "イド"}},
		"Korean":                    {"날씨 정보", []string{"날씨", "정보"}},
		"Thai keeps its marks":      {"ที่พัก", []string{"ที่พั", "พัก"}},
		"nothing":                   {" \t...", nil},
		"not UTF-8":                 {"a\xffb", []string{"a", "b"}},
		"a blob is no word":         {strings.Repeat("x", 65) + " y", []string{"y"}},
		"the longest word":          {strings.Repeat("x", 64), []string{strings.Repeat("x", 64)}},
		"camel case after non-UTF8": {"\xffgetIt", []string{"getit", "get", "it"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, slices.Collect(text.Words(test.text))); diff != "" {
				t.Errorf("Words(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

// Each word is bounded and normalized, and words of the composed and the decomposed
// text are equal.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "getWeather", "Straße ΐ ǰ", "天气预报 ที่พัก", "cafe\u0301 \xff", "İstanbul ı", strings.Repeat("\u0301", 70)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words := slices.Collect(text.Words(s))
		for _, word := range words {
			if len(word) == 0 || len(word) > 64 || !utf8.ValidString(word) {
				t.Errorf("word %q of %q", word, s)
			}
			if again := text.Normalize(word); again != word {
				t.Errorf("word %q of %q normalizes to %q", word, s, again)
			}
		}
		if utf8.ValidString(s) {
			if diff := cmp.Diff(slices.Collect(text.Words(norm.NFC.String(s))), slices.Collect(text.Words(norm.NFD.String(s)))); diff != "" {
				t.Errorf("NFC and NFD of %q differ:\n%s", s, diff)
			}
		}
		text.Analyze([]text.Field{{Text: s, Weight: 3}})
		text.ParseQuery(s)
	})
}

func BenchmarkAnalyze(b *testing.B) {
	fields := []text.Field{
		{Text: "Currency Converter", Weight: 3},
		{Text: strings.Repeat("Converts amounts between currencies with the exchange rates of the European Central Bank. ", 5), Weight: 1},
	}
	b.ReportAllocs()
	for b.Loop() {
		text.Analyze(fields)
	}
}

// Texts of any length are normalized in the same way.
func TestWordsOfLongTexts(t *testing.T) {
	part := "cafe\u0301 Straße ﬁle カ\u3099イド \ufdfa \xff "
	const parts = 500
	want := slices.Repeat(slices.Collect(text.Words(part)), parts)
	if diff := cmp.Diff(want, slices.Collect(text.Words(strings.Repeat(part, parts)))); diff != "" {
		t.Errorf("words of a long text (-want +got):\n%s", diff)
	}
}
