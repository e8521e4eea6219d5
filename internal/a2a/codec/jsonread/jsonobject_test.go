// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestCut(t *testing.T) {
	tests := map[string]struct{ object, value, rest string }{
		"nothing":          {``, ``, ``},
		"empty":            {`{}`, ``, `{}`},
		"first":            {`{"a":[1],"b":2}`, `[1]`, `{"b":2}`},
		"last":             {`{"b":{"a":1},"a":null}`, `null`, `{"b":{"a":1}}`},
		"alone":            {`{"a":1}`, `1`, ``},
		"deeper only":      {`{"b":{"a":1}}`, ``, `{"b":{"a":1}}`},
		"a value only":     {`{"b":"a"}`, ``, `{"b":"a"}`},
		"case":             {`{"A":1}`, ``, `{"A":1}`},
		"escaped":          {`{"\u0061":1,"b":2}`, `1`, `{"b":2}`},
		"escaped neighbor": {`{"a":1,"\"":2}`, `1`, `{"\"":2}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			value, rest := Cut(a2a.Object(test.object), "a")
			if diff := cmp.Diff([]string{test.value, test.rest}, []string{string(value), string(rest)}); diff != "" {
				t.Errorf("Cut() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWith(t *testing.T) {
	for object, want := range map[string]string{``: `{"a":1}`, `{}`: `{"a":1}`, `{"b":2}`: `{"a":1,"b":2}`} {
		if got := string(With(a2a.Object(object), "a", a2a.Value("1"))); got != want {
			t.Errorf("With(%s) = %s, want %s", object, got, want)
		}
	}
}

// A client may send metadata with very many members.
func TestCutOfManyMembers(t *testing.T) {
	object := a2a.Object(manyNames(1<<19, `,"x":1}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	value, rest := Cut(object, "x")
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; string(value) != "1" || allocated > uint64(len(object))+64<<10 {
		t.Errorf("Cut() = %s and %d bytes of %d, with %d bytes", value, len(rest), len(object), allocated)
	}
}
