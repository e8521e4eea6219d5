// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func reason(err error) a2a.Reason {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return problem.Reason
	}
	return ""
}

func TestSyntax(t *testing.T) {
	tests := map[string]struct {
		text string
		want a2a.Reason
	}{
		"object":                    {text: ` {"a":[1,{"b":null}]} `},
		"scalar":                    {text: `1`},
		"empty":                     {text: ``, want: a2a.ReasonParse},
		"space":                     {text: "  \n", want: a2a.ReasonParse},
		"trailing value":            {text: `{} {}`, want: a2a.ReasonParse},
		"trailing comma":            {text: `{},`, want: a2a.ReasonParse},
		"trailing garbage":          {text: `{}x`, want: a2a.ReasonParse},
		"trailing brace":            {text: `{}}`, want: a2a.ReasonParse},
		"cut":                       {text: `{"a":`, want: a2a.ReasonParse},
		"duplicate name":            {text: `{"a":1,"a":2}`, want: a2a.ReasonParse},
		"duplicate escaped name":    {text: `{"a":1,"\u0061":2}`, want: a2a.ReasonParse},
		"duplicate name inside":     {text: `{"x":[{"a":1,"a":2}]}`, want: a2a.ReasonParse},
		"names differ in case":      {text: `{"a":1,"A":2}`},
		"invalid UTF-8":             {text: "{\"a\":\"\xff\"}", want: a2a.ReasonParse},
		"invalid UTF-8 in name":     {text: "{\"\xff\":1}", want: a2a.ReasonParse},
		"half a surrogate":          {text: `{"a":"\ud800"}`, want: a2a.ReasonParse},
		"byte order mark":           {text: "\ufeff{}", want: a2a.ReasonParse},
		"comment":                   {text: `{/* */}`, want: a2a.ReasonParse},
		"single quotes":             {text: `{'a':1}`, want: a2a.ReasonParse},
		"NaN":                       {text: `{"a":NaN}`, want: a2a.ReasonParse},
		"leading zero":              {text: `{"a":01}`, want: a2a.ReasonParse},
		"control character":         {text: "{\"a\":\"\x01\"}", want: a2a.ReasonParse},
		"64 levels":                 {text: strings.Repeat("[", 64) + strings.Repeat("]", 64)},
		"65 levels":                 {text: strings.Repeat("[", 65) + strings.Repeat("]", 65), want: a2a.ReasonParse},
		"a depth bomb":              {text: strings.Repeat(`{"a":`, 1<<20), want: a2a.ReasonParse},
		"brackets within a string":  {text: `{"a":"` + strings.Repeat("[", 100) + `\"[[["}`},
		"number that is very large": {text: `{"a":1e999999}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := New([]byte(test.text))
			r.Skip()
			if got := reason(r.End()); got != test.want {
				t.Errorf("End() = %v, want reason %q", r.Err(), test.want)
			}
		})
	}
}

func TestErrorsNameTheField(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
	}{
		"string":         {`{"m":{"list":[{"s":"a"},{"s":1}]}}`, "m.list[1].s: must be a string"},
		"object":         {`{"m":1}`, "m: must be an object"},
		"array":          {`{"m":{"list":{}}}`, "m.list: must be an array"},
		"missing":        {`{"m":{"list":[{}]}}`, "m.list[0].s: is required"},
		"the whole":      {`[]`, "must be an object"},
		"int":            {`{"i":1.5}`, "i: must be an integer of 32 bits"},
		"int too large":  {`{"i":4294967296}`, "i: must be an integer of 32 bits"},
		"int as text":    {`{"i":"1"}`, "i: must be an integer"},
		"bool":           {`{"b":"true"}`, "b: must be true or false"},
		"base64":         {`{"raw":"a"}`, "raw: must be a base64 string"},
		"too many":       {`{"l":["a","b","c"]}`, "l[2]: exceeds the limit of 2 elements"},
		"null in a list": {`{"l":[null]}`, "l[0]: must be a string"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := New([]byte(test.text))
			for name := range r.Members() {
				switch string(name) {
				case "m":
					for name := range r.Members() {
						if string(name) != "list" {
							continue
						}
						for range r.Elements() {
							s := ""
							for range r.Members() {
								s = r.String()
							}
							if s == "" {
								r.FailAt("s", "is required")
							}
						}
					}
				case "i":
					r.Int()
				case "b":
					r.Bool()
				case "raw":
					r.Bytes()
				case "l":
					r.Strings(2)
				}
			}
			err := r.End()
			if reason(err) != a2a.ReasonInvalidParams || err.Error() != test.want {
				t.Errorf("End() = %v, want %s", err, test.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	text := `{"s":"a\n\u00e9\"","std":"+/8=","url":"-_8","none":"","t":true,"n":-7,"text":"12",` +
		`"o":{ "b" : [ 1.0 , "x y" ], "a":"<\u003c>" },"v":  null , "z":null, "\u0065sc":1}`
	got := map[string]any{}
	r := New([]byte(text))
	for name := range r.AllMembers() {
		key := string(name)
		switch key {
		case "s":
			got[key] = r.String()
		case "std", "url", "none":
			got[key] = string(r.Bytes())
		case "t":
			got[key] = r.Bool()
		case "n", "esc":
			got[key] = r.Int()
		case "text":
			got[key] = r.IntOrText()
		case "o":
			got[key] = string(r.Object())
		case "v":
			got[key] = string(r.Value())
		}
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"s": "a\né\"", "std": "\xfb\xff", "url": "\xfb\xff", "none": "", "t": true, "n": -7, "text": 12,
		"o": `{"b":[1.0,"x y"],"a":"<\u003c>"}`, "v": "null", "esc": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestMembersSkipsNulls(t *testing.T) {
	r := New([]byte(`{"a":null,"b":1,"c":null}`))
	var names []string
	for name := range r.Members() {
		names = append(names, string(name))
	}
	if diff := cmp.Diff([]string{"b"}, names); diff != "" || r.End() != nil {
		t.Errorf("Members() (-want +got):\n%s%v", diff, r.Err())
	}
}

func TestDepthSkipsStrings(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `1`: 0, `{}`: 1, `[[{}]]`: 3, `[[],[]]`: 2, `"[["`: 0, `["\"[[",[]]`: 2, `["\\",[]]`: 2, `["\\\"[[",[]]`: 2, `["\\\\",[]]`: 2,
		`"[[`: 0, `"\`: 0, `["\"`: 1, `[""]`: 1, `["","[",[]]`: 2, `["\\\\\"]", [[]]]`: 3,
	} {
		if got, _ := new(decoder).scan([]byte(text)); got != want {
			t.Errorf("scan(%s) = %d, want %d", text, got, want)
		}
	}
}

// TestStringsOfAListAreShort reads strings at and above MaxListed.
func TestStringsOfAListAreShort(t *testing.T) {
	for length, fails := range map[int]bool{MaxListed: false, MaxListed + 1: true} {
		r := New([]byte(`["` + strings.Repeat("x", length) + `"]`))
		all := r.Strings(1)
		if err := r.End(); (err != nil) != fails || len(all) == 1 == fails {
			t.Errorf("%d bytes: %d strings, %v", length, len(all), err)
		}
	}
}
