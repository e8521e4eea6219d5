// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package headervalue

import (
	"testing"

	"golang.org/x/net/http/httpguts"
)

func TestValuesOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "order-7": "order-7", "order 7": "order 7", "a+b": "a+b", "ä": "%C3%A4", "ä b": "%C3%A4%20b", "50%": "50%25", "%20": "%2520", " a": "%20a", "a ": "a%20",
		"a\r\nB: c": "a%0D%0AB:%20c", "\x7f": "%7F",
	} {
		got := Encode(text)
		if got != want || Decode(got) != text || !httpguts.ValidHeaderFieldValue(got) {
			t.Errorf("Encode(%q) = %q, want %q, and Decode of it %q", text, got, want, Decode(got))
		}
	}
	for _, value := range []string{"50%", "%zz", "ä"} {
		if got := Decode(value); got != value {
			t.Errorf("Decode(%q) = %q", value, got)
		}
	}
}

func FuzzDecodeReversesEncode(f *testing.F) {
	f.Add("50% ä")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Decode(Encode(text)); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
