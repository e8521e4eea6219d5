// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

func TestUsageIsReadFromMetadata(t *testing.T) {
	for usage, want := range map[string]backend.Usage{
		`{"prompt_tokens":3,"completion_tokens":5,"details":{"cached_tokens":2}}`: {Input: 3, Output: 5},
		`{"completion_tokens":0,"prompt_tokens":2147483647}`:                      {Input: 2147483647},
		`{"prompt_tokens":12.0,"completion_tokens":1e3}`:                          {Input: 12, Output: 1000},
		`{"prompt_tokens":3}`:                                    {Input: 3},
		`{"prompt_tokens":null,"completion_tokens":5}`:           {Output: 5},
		`{"prompt_tokens":2147483648,"completion_tokens":1e999}`: {Input: 2147483647, Output: 2147483647},
		`{"prompt_tokens":-3,"completion_tokens":5}`:             {Output: 5, Unreadable: true},
		`{"prompt_tokens":3.5,"completion_tokens":5}`:            {Output: 5, Unreadable: true},
		`{"prompt_tokens":"3","completion_tokens":5}`:            {Output: 5, Unreadable: true},
		`{}`:    {Unreadable: true},
		`[1,2]`: {Unreadable: true},
		`"12"`:  {Unreadable: true},
		`{"a":`: {Unreadable: true},
	} {
		metadata := `{"a2a-operator.dev/model":"m","a2a-operator.dev/usage":` + usage + `}`
		if got, ok := backend.UsageIn(a2a.Object(metadata)); !ok || got != want {
			t.Errorf("UsageIn(%s) = %+v, %t, want %+v", metadata, got, ok, want)
		}
	}
	for _, metadata := range []string{
		``, `{}`, `{"a2a-operator.dev/usage":null}`, `{"other":{"a2a-operator.dev/usage":{"prompt_tokens":3,"completion_tokens":5}}}`,
	} {
		if got, ok := backend.UsageIn(a2a.Object(metadata)); ok {
			t.Errorf("UsageIn(%s) = %+v, want none", metadata, got)
		}
	}
}
