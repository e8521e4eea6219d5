// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

func TestUnrecognized(t *testing.T) {
	cause := errors.New("why")
	failure := backend.Unrecognized(`The agent's event in line 3 has the unknown kind "later"`, []byte(`{"kind":"later"}`), cause)
	if failure.State != a2a.StateFailed || !failure.Unrecognized || failure.Interrupted || !errors.Is(failure, cause) {
		t.Errorf("Unrecognized() = %+v", failure)
	}
	if want := `The agent's event in line 3 has the unknown kind "later"; received: {"kind":"later"}`; failure.Reason != want {
		t.Errorf("Reason = %s\nwant %s", failure.Reason, want)
	}
	if got := backend.Unrecognized("x", nil, nil).Reason; got != "x; received: nothing" {
		t.Errorf("Reason of nothing = %s", got)
	}
}

func TestExcerpt(t *testing.T) {
	tests := map[string]struct {
		text, want string
		secrets    []string
	}{
		"short":                 {text: `{"a":1}`, want: `{"a":1}`},
		"control characters":    {text: "\x1b[31ma\r\n\tb\x00c\u202ed\u200be", want: "[31ma b c d e"},
		"invalid UTF-8":         {text: "a\xff\xc3", want: "a\uFFFD\uFFFD"},
		"blank":                 {text: " \r\n\t", want: ""},
		"exactly as long":       {text: strings.Repeat("x", 200), want: strings.Repeat("x", 200)},
		"one too long":          {text: strings.Repeat("x", 201), want: strings.Repeat("x", 197) + "..."},
		"cut at a character":    {text: strings.Repeat("x", 196) + "äöü!", want: strings.Repeat("x", 196) + "..."},
		"64 MB of spaces":       {text: strings.Repeat(" ", 64<<20), want: "..."},
		"a bearer token":        {text: `authorization: Bearer abc.def-1`, want: `authorization: [redacted] [redacted]`},
		"a bearer in a text":    {text: `sent "Bearer abc" there`, want: `sent "Bearer [redacted]" there`},
		"a member":              {text: `{"access_token":"abc","x":1}`, want: `{"access_token":[redacted],"x":1}`},
		"a member in a string":  {text: `{"body":"{\"apiKey\":\"abc\",\"x\":1}"}`, want: `{"body":"{\"apiKey\":[redacted],\"x\":1}"}`},
		"a list":                {text: `{"password": ["abc"]}`, want: `{"password": [[redacted]]}`},
		"a query":               {text: `/x?api_key=abc&y=1`, want: `/x?api_key=[redacted]&y=1`},
		"a JWT":                 {text: `x eyJhbGciOiJI.eyJzdWIi.c2ln y`, want: `x [redacted] y`},
		"an API key":            {text: `Incorrect key sk-proj-0123456789abc.`, want: `Incorrect key [redacted].`},
		"a URL":                 {text: `http://a:b@c/`, want: `http://a:[redacted]@c/`},
		"no secret":             {text: `{"completion_tokens":12,"tokenizer":"x"}`, want: `{"completion_tokens":12,"tokenizer":"x"}`},
		"a known secret":        {text: `key hunter2!`, secrets: []string{"", "hunter2"}, want: "key [redacted]!"},
		"a known secret at cut": {text: strings.Repeat("x", 195) + "hunter2", secrets: []string{"hunter2"}, want: strings.Repeat("x", 195) + "[r..."},
		"a secret behind much":  {text: strings.Repeat(" ", 4<<10-12) + "correct/horse&battery", secrets: []string{"correct/horse&battery"}, want: "[redacted]..."},
		"a part of a secret":    {text: "key correct/hor", secrets: []string{"correct/horse&battery"}, want: "key [redacted]"},
		"a secret in JSON":      {text: `{"k":"correct\/horse\u0026battery"}`, secrets: []string{"correct/horse&battery"}, want: `{"k":"[redacted]"}`},
		"a secret of quotes":    {text: `{"k":"a\"b\\c"} a"b\c`, secrets: []string{`a"b\c`}, want: `{"k":"[redacted]"} [redacted]`},
		"the end of a word":     {text: "to be or", secrets: []string{"orange-orange-orange"}, want: "to be or"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := backend.Excerpt([]byte(tt.text), tt.secrets...); got != tt.want {
				t.Errorf("Excerpt() = %q\nwant %q", got, tt.want)
			}
		})
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a\xffb\x00\u202e"), "b")
	f.Add([]byte(`{"token":"x","authorization":"Bearer y"}`), "y")
	f.Fuzz(func(t *testing.T, text []byte, secret string) {
		got := backend.Excerpt(text, secret)
		if len(got) > 200 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("Excerpt() = %q of %d bytes", got, len(got))
		}
	})
}
