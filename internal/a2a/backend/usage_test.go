// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

func TestUsageIsReadFromMetadata(t *testing.T) {
	for metadata, want := range map[string]backend.Usage{
		`{"a2a-operator.dev/model":"m","a2a-operator.dev/usage":{"prompt_tokens":3,"completion_tokens":5,"details":{"cached_tokens":2}}}`: {3, 5},
		`{"a2a-operator.dev/usage":{"completion_tokens":0,"prompt_tokens":2147483647}}`:                                                   {2147483647, 0},
	} {
		if got, ok := backend.UsageIn(a2a.Object(metadata)); !ok || got != want {
			t.Errorf("UsageIn(%s) = %+v, %t, want %+v", metadata, got, ok, want)
		}
	}
	for _, metadata := range []string{
		``, `{}`, `{"a2a-operator.dev/usage":null}`, `{"a2a-operator.dev/usage":[1,2]}`, `{"a2a-operator.dev/usage":{}}`,
		`{"a2a-operator.dev/usage":{"prompt_tokens":3}}`,
		`{"a2a-operator.dev/usage":{"prompt_tokens":-3,"completion_tokens":5}}`,
		`{"a2a-operator.dev/usage":{"prompt_tokens":3.5,"completion_tokens":5}}`,
		`{"a2a-operator.dev/usage":{"prompt_tokens":"3","completion_tokens":5}}`,
		`{"a2a-operator.dev/usage":{"prompt_tokens":1e99,"completion_tokens":5}}`,
		`{"other":{"a2a-operator.dev/usage":{"prompt_tokens":3,"completion_tokens":5}}}`,
		`{"a2a-operator.dev/usage":{"prompt_tokens":3,"completion_tokens":5}`,
	} {
		if got, ok := backend.UsageIn(a2a.Object(metadata)); ok {
			t.Errorf("UsageIn(%s) = %+v, want none", metadata, got)
		}
	}
}
