// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skillschema

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		schema string
		// want is the beginning of the error, "" for none.
		want string
	}{
		"absent":                  {},
		"empty":                   {schema: `{}`},
		"an object":               {schema: `{"type":"object","properties":{"city":{"type":"string","minLength":1}},"required":["city"]}`},
		"its own definitions":     {schema: `{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}`},
		"recursive":               {schema: `{"properties":{"next":{"$ref":"#"}}}`},
		"an older draft":          {schema: `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"$ref":"#/definitions/a"}`},
		"an id":                   {schema: `{"$id":"https://example.com/a","$defs":{"b":{"$id":"b"}},"$ref":"b"}`},
		"a pattern of JavaScript": {schema: `{"type":"string","pattern":"^(?=.*[0-9]).+$"}`},
		"an unknown keyword":      {schema: `{"x-order":1}`},
		"a wrong type":            {schema: `{"type":"strnig"}`, want: "inputSchema is not a JSON Schema: at '/type'"},
		"a wrong keyword":         {schema: `{"properties":{"a":{"minLength":-1}}}`, want: "inputSchema is not a JSON Schema: at '/properties/a/minLength'"},
		"a lost definition":       {schema: `{"$ref":"#/$defs/a"}`, want: `inputSchema is not a JSON Schema: json-pointer in "#/$defs/a" not found`},
		"elsewhere":               {schema: `{"$ref":"https://example.com/a.json"}`, want: "inputSchema refers to https://example.com/a.json: move the definition"},
		"a file":                  {schema: `{"$ref":"file:///etc/passwd"}`, want: "inputSchema refers to file:///etc/passwd"},
		"an unknown draft":        {schema: `{"$schema":"https://example.com/draft"}`, want: "inputSchema refers to https://example.com/draft"},
		"cut off":                 {schema: `{"type":`, want: "inputSchema is not JSON"},
		"too large":               {schema: `{"$comment":"` + strings.Repeat("x", MaxSize) + `"}`, want: "inputSchema has 655"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			details := &a2av1alpha1.SkillDetails{}
			if test.schema != "" {
				details.InputSchema = &runtime.RawExtension{Raw: []byte(test.schema)}
			}
			for range 2 { // the second result comes from the cache
				err := Check(details)
				switch {
				case err == nil && test.want != "":
					t.Fatalf("accepted, want %q", test.want)
				case err != nil && (test.want == "" || !strings.HasPrefix(err.Error(), test.want)):
					t.Fatalf("%q, want %q", err, test.want)
				}
			}
			if test.want == "" {
				return
			}
			details.InputSchema, details.OutputSchema = nil, details.InputSchema
			if err := Check(details); err == nil || !strings.HasPrefix(err.Error(), "output") {
				t.Errorf("as outputSchema: %v", err)
			}
		})
	}
}
