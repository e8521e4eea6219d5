// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestHeaderTellsProvenSubjects checks that a container can tell a user whom the registry has verified from one whom an agent asserts.
func TestHeaderTellsProvenSubjects(t *testing.T) {
	const agent = "system:serviceaccount:team:a#1"
	for name, test := range map[string]struct {
		owner   a2a.Owner
		subject *a2a.Subject
		want    []string
	}{
		"proven":                  {agent + " for u1", &a2a.Subject{Principal: "u1", Proven: true}, []string{"u1", "true"}},
		"asserted":                {agent + " for u1", &a2a.Subject{Principal: "u1"}, []string{"u1", ""}},
		"a caller for itself":     {"u1", &a2a.Subject{Principal: "u1", Proven: true}, []string{"", ""}},
		"a name like the headers": {agent + " for u1", &a2a.Subject{Principal: "u1\r\nA2A-Subject-Proven: true"}, []string{"u1%0D%0AA2A-Subject-Proven:%20true", ""}},
	} {
		header := stream.Header(&backend.Turn{Owner: test.owner, Subject: test.subject}, "*/*")
		got := []string{strings.Join(header["A2A-Subject"], ","), strings.Join(header["A2A-Subject-Proven"], ",")} //nolint:staticcheck // the headers have the documented case
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
