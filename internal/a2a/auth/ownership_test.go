// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

func TestOwnerClaim(t *testing.T) {
	keys := newKeyring(t)
	authenticator := newJWT(known(t, keys.set(t), noon), func(c *JWTConfig) { c.OwnerClaim = "tenant_id" })
	key := jose.JSONWebKey{Key: keys.p256, KeyID: "p256"}
	authenticate := func(claims string) (Caller, error) {
		body := fmt.Sprintf(`{"iss":%q,"aud":"echo","exp":%d,%s}`, oidcIssuer, noon.Add(time.Hour).Unix(), claims)
		return authenticator.Authenticate(request("Bearer " + signText(t, jose.ES256, key, nil, body)))
	}
	owners := map[string]a2a.Owner{}
	for _, who := range []string{"alice", "bob"} {
		caller, err := authenticate(fmt.Sprintf(`"sub":%q,"tenant_id":"acme"`, who))
		if err != nil || caller.Principal() != "jwt:"+oidcIssuer+"#"+who || caller.Owner != "jwt[tenant_id]:"+oidcIssuer+"#acme" {
			t.Errorf("%s: %+v, %v", who, caller, err)
		}
		owners[who] = caller.Owner
	}
	if owners["alice"] != owners["bob"] {
		t.Errorf("owners are %v", owners)
	}
	// An owner claim never results in the owner of a principal with the same value.
	if caller, err := authenticate(`"sub":"x","tenant_id":"alice"`); err != nil || caller.Owner == a2a.Owner("jwt:"+oidcIssuer+"#alice") {
		t.Errorf("a tenant of a caller's name owns as %s, %v", caller.Owner, err)
	}
	bySub := JWTConfig{Issuer: oidcIssuer, PrincipalClaim: "email", OwnerClaim: "sub"}
	if caller, err := bySub.callerOf(map[string]json.RawMessage{"sub": json.RawMessage(`"alice"`), "email": json.RawMessage(`"bob"`)}); err != nil || caller.Owner != a2a.Owner("jwt:"+oidcIssuer+"#alice") || caller.Principal() != "jwt:"+oidcIssuer+"#bob" {
		t.Errorf("the owner by sub is %+v, %v", caller, err)
	}
	for name, claims := range map[string]string{
		"none": `"sub":"alice"`, "null": `"sub":"alice","tenant_id":null`, "empty": `"sub":"alice","tenant_id":""`,
		"number": `"sub":"alice","tenant_id":7`, "list": `"sub":"alice","tenant_id":["acme"]`,
		"control character": `"sub":"alice","tenant_id":"acme\u001fx"`, "twice": `"sub":"alice","tenant_id":"acme","tenant_id":"other"`,
		"long": `"sub":"alice","tenant_id":"` + strings.Repeat("x", maxPrincipal+1) + `"`,
	} {
		if caller, err := authenticate(claims); err == nil || a2a.ErrorOf(err).Reason != a2a.ReasonUnauthenticated {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
	}
}

func TestClaimsAreKeptForRules(t *testing.T) {
	s := newSigner(t)
	token := s.token(t, nil)
	for _, keep := range []bool{false, true} {
		k := newKubernetes(t, s, func() time.Time { return noon })
		k.config.KeepClaims = keep
		for range 2 { // the second token comes from the cache
			caller, err := k.Authenticate(request("Bearer " + token))
			if err != nil || (caller.Claims != nil) != keep {
				t.Fatalf("keep %v: %+v, %v", keep, caller, err)
			}
			if keep && (*caller.Claims)["sub"] != caller.Principal() {
				t.Errorf("claims are %v", *caller.Claims)
			}
		}
	}
}

// TestCallerEvictsNoTokensOfOthers caches many long tokens of one namespace, with claims of many small values. They are bounded by what they
// take, and the token of another caller stays cached.
func TestCallerEvictsNoTokensOfOthers(t *testing.T) {
	c := newTokenCache()
	c.put("quiet", Caller{Owner: "system:serviceaccount:quiet:a"}, noon.Add(time.Hour), noon)
	claims := `{"a":[{}` + strings.Repeat(",{}", maxToken/6) + `]}`
	payload := base64.RawURLEncoding.EncodeToString([]byte(claims))
	const tokens = 100
	for i := range tokens {
		owner := a2a.Owner(fmt.Sprintf("system:serviceaccount:crowded:%d", i))
		c.put(fmt.Sprintf("%d.%s.x", i, payload), Caller{Owner: owner, Claims: &authz.Claims{}}, noon.Add(time.Hour), noon)
	}
	if !c.has("quiet", noon) {
		t.Error("the token of another caller is evicted")
	}
	entries, cost := c.entries.Size()
	if least := (entries - 1) * 300 * len(claims) / 3; cost > maxVerifiedBytes || cost < least || entries < 3 || entries > tokens/2 {
		t.Errorf("%d tokens cost %d bytes, want %d at least", entries, cost, least)
	}
}
