// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// TestVerifiedBeforeUntilTheTokenExpires checks that VerifiedBefore is true until the
// token expires, even when get no longer uses the cache entry. Otherwise, an attacker at
// the caller's address could send wrong credentials until the caller is limited, too.
func TestVerifiedBeforeUntilTheTokenExpires(t *testing.T) {
	now := noon
	clock := func() time.Time { return now }
	s, keys := newSigner(t), newKeyring(t)
	issuerKeys := known(t, keys.set(t), noon)
	gate := NewGate(&Policy{Namespaces: []string{AllNamespaces}, Authenticators: []Authenticator{
		newJWT(issuerKeys, func(c *JWTConfig) { c.Now = clock }), newKubernetes(t, s, clock),
	}}, nil)
	tokens := map[string]string{
		"ServiceAccount": s.token(t, nil),
		"JWT":            sign(t, jose.ES256, jose.JSONWebKey{Key: keys.p256, KeyID: "p256"}, jwtClaims(nil)),
	}
	for kind, token := range tokens {
		if gate.VerifiedBefore(request("Bearer " + token)) {
			t.Errorf("%s: verified before the first request", kind)
		}
		if _, err := gate.policy.Load().Decide(request("Bearer " + token)); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {maxVerifyAge - 1, true}, {maxVerifyAge, true}, {time.Hour - 1, true}, {time.Hour + leeway, false}} {
		now = noon.Add(step.after)
		issuerKeys.state.Store(&fetchedKeys{issuerKeys.state.Load().keySet, now})
		for kind, token := range tokens {
			if got := gate.VerifiedBefore(request("Bearer " + token)); got != step.want {
				t.Errorf("%s after %s: verified before = %t", kind, step.after, got)
			}
		}
	}
}
