// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentskill

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
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
		"a precise number":        {schema: `{"multipleOf":0.01,"maximum":1.7976931348623157e+308,"minimum":-1e-0308}`},
		"a small number":          {schema: `{"multipleOf":1e-999999999}`, want: "inputSchema has the number 1e-999999999; use numbers"},
		"a large number":          {schema: `{"enum":[1e400]}`, want: "inputSchema has the number 1e400; use numbers"},
		"a long number":           {schema: `{"maximum":` + strings.Repeat("9", 65) + `}`, want: "inputSchema has the number 9999"},
		"deep":                    {schema: repeated("", `{"items":`, "{}", "}", 63)},
		"too deep":                {schema: repeated("", `{"items":`, "{}", "}", 64), want: "inputSchema is nested more than 64 deep; flatten it"},
		"too deep in a default":   {schema: `{"default":` + repeated("", "[", "", "]", 64) + `}`, want: "inputSchema is nested more than 64 deep; flatten it"},
		"much too deep":           {schema: repeated("", `{"items":`, "{}", "}", 2800), want: "inputSchema is nested more than 64 deep; flatten it"},
		"many values":             {schema: `{"enum":[0` + numbered(`,%d`, 1997) + `]}`},
		"too many values":         {schema: `{"enum":[0` + numbered(`,%d`, 1998) + `]}`, want: "inputSchema has more than 2000 values; make it smaller"},
		"long names":              {schema: `{"properties":{"` + strings.Repeat("k", 20_000) + `":{"properties":{"q":{}` + numbered(`,"p%d":{}`, 100) + `}}}}`, want: "inputSchema has names and identifiers that are too long"},
		"a long identifier":       {schema: `{"$id":"http://a/` + strings.Repeat("k", 20_000) + `","properties":{"q":{}` + numbered(`,"p%d":{}`, 100) + `}}`, want: "inputSchema has names and identifiers that are too long"},
		"many references":         {schema: `{"properties":{"q":{}` + numbered(`,"p%d":{"$ref":"#/$defs/a%[1]d"}`, 300) + `},"$defs":{"q":{}` + numbered(`,"a%d":{}`, 300) + `}}`},
		"references elsewhere":    {schema: `{"properties":{"q":{}` + numbered(`,"p%d":{"$ref":"#/x/a%[1]d"}`, 33) + `},"x":{"q":{}` + numbered(`,"a%d":{}`, 33) + `}}`, want: "inputSchema refers to more than 32 places that are neither definitions nor properties"},
		"references of draft 7":   {schema: `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"q":{}` + numbered(`,"p%d":{"$ref":"#/$defs/a%[1]d"}`, 33) + `},"$defs":{"q":{}` + numbered(`,"a%d":{}`, 33) + `}}`, want: "inputSchema refers to more than 32 places"},
		"a long message":          {schema: `{"type":"` + strings.Repeat("x", 60_000) + `"}`, want: "inputSchema is not a JSON Schema: at '/type'"},
		"too large":               {schema: `{"$comment":"` + strings.Repeat("x", MaxSize) + `"}`, want: "inputSchema has 655"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			details := &a2av1alpha1.SkillDetails{}
			if test.schema != "" {
				details.InputSchema = &runtime.RawExtension{Raw: []byte(test.schema)}
			}
			for range 2 { // the second result comes from the cache
				err := new(Budget).Check(details)
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
			if err := new(Budget).Check(details); err == nil || !strings.HasPrefix(err.Error(), "output") {
				t.Errorf("as outputSchema: %v", err)
			}
		})
	}
}

// numbered returns the format with each number from 1 to count.
func numbered(format string, count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// repeated returns before, opening repeated, middle, closing repeated.
func repeated(before, opening, middle, closing string, count int) string {
	return before + strings.Repeat(opening, count) + middle + strings.Repeat(closing, count)
}

func schema(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// TestCheckIsBounded checks the memory that schemas need at the bounds. Before the bounds, some
// needed seconds and gigabytes, and 28 KB with a depth of 2800 needed minutes.
func TestCheckIsBounded(t *testing.T) {
	unique := 0
	for _, text := range []string{
		repeated("", `{"items":`, "{}", "}", 2800),
		repeated("", `{"items":`, "{}", "}", 62),
		repeated("", `{"properties":{"a":`, "{}", "}}", 31),
		repeated(`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":`, `{"items":`, "{}", "}", 61) + "}",
		repeated("", `{"anyOf":[{},`, "{}"+strings.Repeat(",{}", 1900), "]}", 31),
		repeated("", `{"anyOf":[{},`, "3"+strings.Repeat(",3", 1900), "]}", 31),
		`{"properties":{"q":{}` + numbered(`,"p%d":{"$id":"x%[1]d","$ref":"#"}`, 490) + `}}`,
		`{"properties":{"q":{}` + numbered(`,"p%d":{"$ref":"#/$defs/a%[1]d"}`, 490) + `},"$defs":{"q":{}` + numbered(`,"a%d":{}`, 490) + `}}`,
		`{"properties":{"` + strings.Repeat("k", 250) + `":{"properties":{"q":{}` + numbered(`,"p%d":{}`, 1900) + `}}}}`,
	} {
		unique++
		text = strings.Replace(text, "{", fmt.Sprintf(`{"$comment":"%d",`, unique), 1) // not in the cache
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		err := new(Budget).Check(&a2av1alpha1.SkillDetails{InputSchema: schema(text)})
		goruntime.ReadMemStats(&after)
		if size := after.TotalAlloc - before.TotalAlloc; size > maxAllocated {
			t.Errorf("Check(%.40q) allocates %d bytes; its error is %v", text, size, err)
		}
	}
}

// maxAllocated bounds the bytes that a check of a schema allocates; 47 MB were measured.
const maxAllocated = 64 << 20

// TestCheckSurvivesAPanic checks a schema with which the compiler panics, beyond the bounds that
// otherwise prevent the panic.
func TestCheckSurvivesAPanic(t *testing.T) {
	err := compile(map[string]any{"multipleOf": json.Number("1e-999999999")})
	if err == nil || !strings.HasPrefix(err.Error(), "is not a JSON Schema: the compiler failed on it") {
		t.Errorf("compile() = %v", err)
	}
}

// TestCheckOnce checks that a schema is compiled once, whether it is valid or not.
func TestCheckOnce(t *testing.T) {
	for _, text := range []string{`{"title":"once"}`, `{"title":1}`, `{"items":[` + repeated("", "[", "", "]", 70) + `]}`} {
		details := &a2av1alpha1.SkillDetails{InputSchema: schema(text)}
		_ = new(Budget).Check(details)
		if allocations := testing.AllocsPerRun(10, func() { _ = new(Budget).Check(details) }); allocations > 8 {
			t.Errorf("Check(%.40q) allocates %.0f times after the first call", text, allocations)
		}
	}
}

// TestBudget checks that the schemas of an Agent have a bound together, also when they are in the
// cache.
func TestBudget(t *testing.T) {
	for range 2 {
		var budget Budget
		for i := range 11 {
			details := &a2av1alpha1.SkillDetails{InputSchema: schema(fmt.Sprintf(`{"$comment":"%d","enum":[0%s]}`, i, numbered(`,%d`, 1990)))}
			err := budget.Check(details)
			if i < 10 && err != nil {
				t.Fatal(err)
			}
			if i == 10 && (err == nil || !strings.HasPrefix(err.Error(), "inputSchema is too much: the schemas of the Agent have more than 20000 values")) {
				t.Errorf("Budget.Check() = %v", err)
			}
			if err := new(Budget).Check(details); i == 10 && err != nil {
				t.Errorf("Check() = %v", err)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"$id":"https://example.com/a","$defs":{"b":{"$id":"b","$anchor":"c"}},"$ref":"b#c","properties":{"a":{"multipleOf":0.1,"enum":[1e3,null]}}}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"pattern":"^a+$"}},"$ref":"#/definitions/a","if":true,"then":{}}`)
	f.Add(`{"$dynamicAnchor":"m","items":{"$dynamicRef":"#m"},"dependentSchemas":{"a":{"not":{"const":0}}},"unevaluatedProperties":false}`)
	f.Fuzz(func(t *testing.T, text string) {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		err := new(Budget).Check(&a2av1alpha1.SkillDetails{InputSchema: schema(text)})
		goruntime.ReadMemStats(&after)
		if size := after.TotalAlloc - before.TotalAlloc; size > maxAllocated {
			t.Errorf("%d bytes allocated", size)
		}
		if err != nil && strings.Contains(err.Error(), "the compiler failed") {
			t.Error(err)
		}
	})
}
