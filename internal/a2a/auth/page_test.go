// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// TestTokensOfThePage verifies tokens with which the page calls an agent for a person, and refuses all others.
func TestTokensOfThePage(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := NewPage(PageConfig{
		Issuer: KubernetesIssuer{Issuer: "page", Audiences: []string{"echo"}, Keys: keys}, Now: time.Now,
		People: []JWTConfig{{Issuer: "https://named", PrincipalClaim: "email"}, {Issuer: "https://shared", OwnerClaim: "team"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	of := func(issuer string, claims map[string]any) map[string]any {
		return map[string]any{"task": "t", "owner": "o", "issuer": issuer, "claims": claims}
	}
	authenticate := func(by *ecdsa.PrivateKey, change map[string]any) (Caller, error) {
		claims := map[string]any{
			"iss": "page", "aud": "echo", "exp": time.Now().Add(time.Minute).Unix(),
			"a2a-operator.dev/decides": of("https://other", map[string]any{"sub": "jane", "groups": []string{"oncall"}}),
		}
		maps.Copy(claims, change)
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: by, KeyID: "k"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return page.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + text}}})
	}
	caller, err := authenticate(key, nil)
	if err != nil || caller.Owner != "jwt:https://other#jane" || caller.Task != "t" || caller.TaskOwner != "o" || !caller.Unscoped || len((*caller.Claims)["groups"].([]any)) != 1 {
		t.Errorf("the caller is %+v, %v", caller, err)
	}
	for issuer, want := range map[string]string{"https://named": "jwt[email]:https://named#jane@example.com", "https://shared": "jwt[team]:https://shared#search"} {
		caller, err := authenticate(key, map[string]any{"a2a-operator.dev/decides": of(issuer, map[string]any{"sub": "jane", "email": "jane@example.com", "team": "search"})})
		if err != nil || string(caller.Owner) != want {
			t.Errorf("a person of %s owns tasks as %q, %v; want %q", issuer, caller.Owner, err, want)
		}
	}
	for name, change := range map[string]map[string]any{
		"another issuer":   {"iss": "a2a-operator.dev/registry"},
		"another audience": {"aud": "other"},
		"expired":          {"exp": time.Now().Add(-time.Hour).Unix()},
		"no expiry":        {"exp": nil},
		"no person":        {"a2a-operator.dev/decides": nil},
		"no task":          {"a2a-operator.dev/decides": map[string]any{"owner": "o", "issuer": "i", "claims": map[string]any{"sub": "jane"}}},
		"no owner":         {"a2a-operator.dev/decides": map[string]any{"task": "t", "issuer": "i", "claims": map[string]any{"sub": "jane"}}},
		"no issuer":        {"a2a-operator.dev/decides": map[string]any{"task": "t", "owner": "o", "claims": map[string]any{"sub": "jane"}}},
		"no principal":     {"a2a-operator.dev/decides": of("https://named", map[string]any{"sub": "jane"})},
	} {
		if caller, err := authenticate(key, change); err == nil {
			t.Errorf("%s: %+v", name, caller)
		}
	}
	if caller, err := authenticate(other, nil); err == nil {
		t.Errorf("another key: %+v", caller)
	}
}
