// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestParse(t *testing.T) {
	good := map[string]Version{
		"": {}, "1": V10, "1.0": V10, "1.0.1": V10, " 1.0 ": V10, "0.3": V03, "0.3.0": V03, "0.2.6": V02, "99.0": {99, 0}, "1.12": {1, 12},
	}
	for text, want := range good {
		if got, ok := Parse(text); !ok || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"x", "0", "0.0", "1.", "1.0.", ".3", "1.x", "1.0.x", "-1", "+1", "1,0", "1.0.0.0", "v1", "1e3", "99999", "1. 0"} {
		if got, ok := Parse(text); ok {
			t.Errorf("Parse(%q) = %v, want false", text, got)
		}
	}
}

func TestOf(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/?A2A-Version=0.3", nil)
	if got, ok := Of(r); !ok || got != V03 {
		t.Errorf("Of() = %v, %v from the query", got, ok)
	}
	r.Header.Set("A2A-Version", "1.0")
	if got, ok := Of(r); !ok || got != V10 {
		t.Errorf("Of() = %v, %v, want the header before the query", got, ok)
	}
}
