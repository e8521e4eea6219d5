// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestMember(t *testing.T) {
	for object, want := range map[string]string{
		`{"a":1}`:                        "1",
		` { "b" : [2] , "a" : {"c":3} }`: `{"c":3}`,
		`{"\u0061":"x"}`:                 `"x"`,
		`{"a":1,"b":2,"a":3}`:            "3",
		`{"b":{"a":1}}`:                  "",
		`["a",1]`:                        "",
		`{"a":1`:                         "",
		`{"a":1,}`:                       "",
		"":                               "",
	} {
		if got := a2a.Object(object).Member("a"); string(got) != want {
			t.Errorf("%s: Member() = %s, want %s", object, got, want)
		}
	}
}

func TestWithout(t *testing.T) {
	for object, want := range map[string]string{
		``:                                   ``,
		`{}`:                                 ``,
		`{"a":1,"\u0062":2,"a":3}`:           ``,
		`{"a":1,"c":"\u0061","b":2,"d":[3]}`: `{"c":"\u0061","d":[3]}`,
		`{"A":1,"aa":{"a":1}}`:               `{"A":1,"aa":{"a":1}}`,
	} {
		if got := a2a.Object(object).Without("a", "b"); string(got) != want {
			t.Errorf("%s: Without() = %s, want %s", object, got, want)
		}
	}
}

// TestMemoryOfManyMembers looks for members in an object of 5 MB with 650,000 of them. It takes no memory for each member.
func TestMemoryOfManyMembers(t *testing.T) {
	var text strings.Builder
	text.WriteByte('{')
	for i := range 650_000 {
		fmt.Fprintf(&text, `"%x":1,`, i)
	}
	object := a2a.Object(text.String() + `"a2a.partKind":"tool-use","inputRequest":1,"` + a2a.SkillName + `":"s","toolUseId":"t"}`)
	m := &a2a.Message{Metadata: object, Parts: []a2a.Part{{Content: a2a.ContentData, Data: a2a.Value(object), Metadata: object}}}
	for name, do := range map[string]func(){
		"Member":       func() { object.Member("x") },
		"HasResult":    func() { m.HasResult() },
		"InputRequest": func() { _, _ = m.InputRequest() },
	} {
		if got := allocated(do); got > 64<<10 {
			t.Errorf("%s allocates %d bytes for %d", name, got, len(object))
		}
	}
	for name, do := range map[string]func(){ // they copy the object
		"Without": func() { object.Without("x") },
		"Skill":   func() { _, _ = (&a2a.SendRequest{Message: m}).Skill() },
	} {
		if got := allocated(do); got > uint64(len(object))+64<<10 {
			t.Errorf("%s allocates %d bytes for %d", name, got, len(object))
		}
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
