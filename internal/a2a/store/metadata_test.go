// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func TestWithoutMember(t *testing.T) {
	for object, want := range map[string]string{
		"":                             "",
		`{}`:                           "",
		`{"a.b":1}`:                    "",
		`{"a.b":1,"c":{"a.b":2}}`:      `{"c":{"a.b":2}}`,
		`{"c":[1],"a\u002eb":1,"d":2}`: `{"c":[1],"d":2}`,
		`{"c":1}`:                      `{"c":1}`,
	} {
		if got := store.WithoutMember(a2a.Object(object), "a.b"); string(got) != want {
			t.Errorf("WithoutMember(%s) = %s, want %s", object, got, want)
		}
	}
}
