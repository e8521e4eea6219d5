// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// TestHeadersOfTwoPrincipalsDiffer checks that an agent that decodes the header cannot
// confuse two callers.
func TestHeadersOfTwoPrincipalsDiffer(t *testing.T) {
	seen := map[string]a2a.Owner{}
	for _, owner := range []a2a.Owner{"é", "%C3%A9", "%25C3%25A9", "a b", "a%20b", " a", "%20a", "a\n", "a%0A"} {
		value := stream.Header(&backend.Turn{Owner: owner}, "*/*")["A2A-Principal"][0] //nolint:staticcheck // the header has the documented case
		if other, ok := seen[value]; ok {
			t.Errorf("%q and %q are both %q", other, owner, value)
		}
		seen[value] = owner
	}
}

func TestHeaderNamesTheAttempt(t *testing.T) {
	for attempt, want := range map[int]string{1: "", 2: "2"} {
		if got := stream.Header(&backend.Turn{Attempt: attempt}, "*/*")["A2A-Attempt"]; len(got) > 0 && got[0] != want || len(got) == 0 && want != "" { //nolint:staticcheck // the header has the documented case
			t.Errorf("A2A-Attempt = %q, want %q", got, want)
		}
	}
}
