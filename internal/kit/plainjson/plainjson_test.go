// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plainjson

import (
	"encoding/json"
	"testing"
)

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]any{"text": "<a> & \"b\"\n", "raw": json.RawMessage(`{ "a": "<" }`)})
	if want := `{"raw":{"a":"<"},"text":"<a> & \"b\"\n"}`; err != nil || string(got) != want {
		t.Errorf("Marshal() = %s, %v, want %s", got, err, want)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function has JSON")
	}
}
