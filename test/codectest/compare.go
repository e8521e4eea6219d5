// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"encoding/json"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// ByMeaning compares JSON by value, for encodings that do not preserve the notation of
// numbers or the order of members. An empty value equals an absent one.
func ByMeaning() cmp.Option {
	isJSON := func(p cmp.Path) bool {
		t := p.Last().Type()
		return t == reflect.TypeFor[a2a.Object]() || t == reflect.TypeFor[a2a.Value]()
	}
	meaning := func(text []byte) any {
		var v any
		if len(text) > 0 && json.Unmarshal(text, &v) != nil {
			return string(text)
		}
		return v
	}
	return cmp.Options{
		cmp.FilterPath(isJSON, cmp.Transformer("meaning", meaning)),
		cmp.FilterPath(func(p cmp.Path) bool { return !isJSON(p) }, cmpopts.EquateEmpty()),
	}
}
