// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryapi

import (
	"strings"
	"testing"
)

func TestDecodeEventHead(t *testing.T) {
	cut := func(text string) []byte { return []byte(text[:min(len(text), EventHead)]) }
	for name, test := range map[string]struct{ eventType, text, want string }{
		"a large agent":          {"upsert", `{"namespace":"team","name":"a","skills":[` + strings.Repeat(`{"name":"b"},`, EventHead), "team/a"},
		"the longest names":      {"upsert", `{"namespace":"` + strings.Repeat("n", 63) + `","name":"` + strings.Repeat("a", 253) + `","x":1}`, strings.Repeat("n", 63) + "/" + strings.Repeat("a", 253)},
		"other members first":    {"upsert", `{"provider":{"name":"x"},"name":"a","namespace":"team"}`, "team/a"},
		"a removed agent":        {"remove", `{"namespace":"team","name":"a"}`, "team/a"},
		"an event without agent": {"synced", `{}`, "/"},
	} {
		e, err := DecodeEventHead(test.eventType, "1", cut(test.text))
		if got := e.Namespace + "/" + e.Name; err != nil || got != test.want || string(e.Type) != test.eventType || e.ID != "1" {
			t.Errorf("%s: %q, %+v, %v", name, got, e, err)
		}
	}
	for _, text := range []string{"", "[", `"a"`, `{"namespace":"team"}`, `{"name":"a","namespace":5}`, `{"a":"` + strings.Repeat("x", EventHead)} {
		if e, err := DecodeEventHead("upsert", "1", cut(text)); err == nil {
			t.Errorf("%q is decoded as %+v", text, e)
		}
	}
}
