// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"strings"
	"testing"
)

func TestSkill(t *testing.T) {
	const name = `"a2a-operator.dev/skill"`
	tests := map[string]struct {
		request, message string
		want             string
		// field is the field of the expected error.
		field string
	}{
		"none":                          {`{"a":1}`, "", "", ""},
		"another name":                  {`{"x-a2a-operator.dev/skill":"a"}`, "", "", ""},
		"in a value":                    {`{"a":{` + name + `:"a"}}`, "", "", ""},
		"of the request":                {`{` + name + `:"a"}`, "", "a", ""},
		"of the message":                {"", `{"b":[],` + name + `:"a"}`, "a", ""},
		"of both":                       {`{` + name + `:"a"}`, `{` + name + `:"a"}`, "a", ""},
		"escaped name":                  {`{"\u0061\u0032a-operator.dev\/skill":"a"}`, "", "a", ""},
		"escaped value":                 {`{` + name + `:"\u0061"}`, "", "a", ""},
		"two":                           {`{` + name + `:"a"}`, `{` + name + `:"b"}`, "", "message.metadata"},
		"twice":                         {`{` + name + `:"a",` + name + `:"a"}`, "", "", "metadata"},
		"number":                        {`{` + name + `:1}`, "", "", "metadata"},
		"null":                          {"", `{` + name + `:null}`, "", "message.metadata"},
		"empty":                         {`{` + name + `:""}`, "", "", "metadata"},
		"list":                          {`{` + name + `:["a"]}`, "", "", "metadata"},
		"case":                          {`{"A2A-operator.dev/Skill":"a"}`, "", "", "metadata"},
		"two names that differ in case": {`{` + name + `:"a","a2a-operator.dev/SKILL":"b"}`, "", "", "metadata"},
		"Kelvin sign":                   {`{"a2a-operator.dev/s\u212aill":"a"}`, "", "", "metadata"},
		"long s":                        {`{"a2a-operator.dev/ſkill":"a"}`, "", "", "metadata"},
		"Kelvin sign, plain":            {`{"a2a-operator.dev/sKill":"a"}`, "", "", "metadata"},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			r := &SendRequest{Metadata: Object(test.request), Message: &Message{Metadata: Object(test.message)}}
			got, err := r.Skill()
			field := ""
			if err != nil {
				field = ErrorOf(err).Field
			}
			if got != test.want || field != test.field {
				t.Errorf("Skill() = %q, %v, want %q and an error of %q", got, err, test.want, test.field)
			}
		})
	}
	// The name is found at any position of a large text.
	much := `{"a":"` + strings.Repeat("x", 1<<20) + `",` + name + `:"a"}`
	if got, err := (&SendRequest{Metadata: Object(much), Message: &Message{}}).Skill(); got != "a" || err != nil {
		t.Errorf("Skill() = %q, %v", got, err)
	}
}
