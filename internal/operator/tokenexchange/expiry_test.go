// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestEndOfATokenToExchange checks which tokens of users may be exchanged at another authorization server: those of the agent that calls, and none of
// a user whom an agent has asserted.
func TestEndOfATokenToExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		text := fmt.Sprintf(`{"principal":"jwt:%s#u1","owner":"jwt:%s#u1"}`, people, people)
		_, asserted, problem := w.ask("c", base64.RawURLEncoding.EncodeToString([]byte(text)), audienceA, "subject_token_type", a2a.TypeAssertedSubject)
		if problem != nil {
			t.Fatal(problem)
		}
		genuine := w.sign(w.people, person())
		large := w.sign(w.people, person("entitlements", strings.Repeat("a", 2*maxClaims)))
		for name, test := range map[string]struct {
			client, caller, token string
			want                  time.Duration
		}{
			"a user":                     {audienceA, accountA, genuine, 5 * time.Minute},
			"a user with many claims":    {audienceA, accountA, large, 5 * time.Minute},
			"another ServiceAccount":     {audienceA, "system:serviceaccount:team:b", genuine, 0},
			"another agent":              {audienceB, accountA, genuine, 0},
			"no agent":                   {"", accountA, genuine, 0},
			"no token":                   {audienceA, accountA, "", 0},
			"a token with a line break":  {audienceA, accountA, "a\nb", 0},
			"a user whom an agent named": {audienceA, accountA, asserted, 0},
		} {
			end, err := w.exchange.options.Subjects.Expiry(t.Context(), test.client, test.caller, test.token)
			if (err == nil) != (test.want > 0) || err == nil && !end.Equal(time.Now().Truncate(time.Second).Add(test.want)) {
				t.Errorf("%s: Expiry() = %v, %v", name, end, err)
			}
		}
		// The lifetime of an issued token is a number of seconds. That of a token which ends within the second would be zero.
		time.Sleep(500 * time.Millisecond)
		last := w.sign(w.people, person("exp", time.Now().Unix()+1))
		if _, _, problem := w.ask("c", last, audienceA); problem == nil || problem.Reason != a2a.ReasonSubjectUnproven {
			t.Errorf("a token that ends within a second: %+v", problem)
		}
	})
}
