// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// registryIssuer is the issuer of the tokens that the registry issues for calls of
// agents.
const registryIssuer = "a2a-operator.dev/registry"

// newTwoIssuers returns an authenticator for tokens of the cluster and of the registry.
func newTwoIssuers(t *testing.T, cluster, registry *signer, now func() time.Time) *Kubernetes {
	t.Helper()
	k, err := NewKubernetes(KubernetesConfig{Now: now, Issuers: []KubernetesIssuer{
		{Issuer: issuer, Audiences: []string{audience}, Keys: cluster.keys(t)},
		{Issuer: registryIssuer, Audiences: []string{audience}, Keys: registry.keys(t)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// registryClaims are the claims of a token of the registry.
func registryClaims(changes map[string]any) map[string]any {
	c := claims()
	delete(c, "nbf")
	c["iss"], c["aud"], c["exp"] = registryIssuer, []string{audience}, noon.Add(10*time.Minute).Unix()
	maps.Copy(c, changes)
	return c
}

func TestTokensOfBothIssuersNameTheSameCaller(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	k := newTwoIssuers(t, cluster, registry, func() time.Time { return noon })
	want := Caller{Owner: "system:serviceaccount:team:caller#1", Individual: "system:serviceaccount:team:caller", Namespace: "team"}
	for name, token := range map[string]string{
		"cluster":  cluster.token(t, nil),
		"registry": sign(t, jose.ES256, jose.JSONWebKey{Key: registry.ecdsa, KeyID: "e"}, registryClaims(nil)),
	} {
		for range 2 { // the second token comes from the cache
			if got, err := k.Authenticate(request("Bearer " + token)); err != nil || got != want {
				t.Errorf("%s: Authenticate() = %+v, %v, want %+v", name, got, err, want)
			}
		}
	}
}

// TestRecreatedServiceAccountOwnsNoFormerTasks checks that a ServiceAccount with the name of a deleted one is another
// owner, and the same principal for rules and limits.
func TestRecreatedServiceAccountOwnsNoFormerTasks(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	k := newTwoIssuers(t, cluster, registry, func() time.Time { return noon })
	account := func(uid any) map[string]any {
		object := map[string]any{"name": "caller"}
		if uid != nil {
			object["uid"] = uid
		}
		return map[string]any{"namespace": "team", "serviceaccount": object}
	}
	const name = "system:serviceaccount:team:caller"
	for uid, owner := range map[any]a2a.Owner{"1": name + "#1", "2": name + "#2", nil: name, "": name} {
		for issuer, token := range map[string]string{
			"cluster":  cluster.token(t, func(c map[string]any) { c["kubernetes.io"] = account(uid) }),
			"registry": sign(t, jose.ES256, jose.JSONWebKey{Key: registry.ecdsa, KeyID: "e"}, registryClaims(map[string]any{"kubernetes.io": account(uid)})),
		} {
			caller, err := k.Authenticate(request("Bearer " + token))
			if err != nil || caller.Owner != owner || caller.Principal() != name || caller.AccountingPrincipal().Principal != name {
				t.Errorf("%s, UID %v: %+v, %v, want owner %s", issuer, uid, caller, err, owner)
			}
		}
	}
	for _, uid := range []string{"a\x1fb", "a\nb", strings.Repeat("1", maxPrincipal+1)} {
		token := cluster.token(t, func(c map[string]any) { c["kubernetes.io"] = account(uid) })
		if caller, err := k.Authenticate(request("Bearer " + token)); err == nil {
			t.Errorf("UID %q: %+v", uid, caller)
		}
	}
}

func TestBoundPod(t *testing.T) {
	cluster, other := newSigner(t), newSigner(t)
	k := newTwoIssuers(t, cluster, other, nil)
	with := func(change func(c, kubernetes map[string]any)) string {
		return cluster.token(t, func(c map[string]any) {
			kubernetes := map[string]any{
				"namespace": "team", "serviceaccount": map[string]any{"name": "caller", "uid": "1"}, "pod": map[string]any{"name": "caller-1", "uid": "2"},
			}
			c["kubernetes.io"] = kubernetes
			change(c, kubernetes)
		})
	}
	bound := with(func(_, _ map[string]any) {})
	want := BoundPod{Namespace: "team", Name: "caller-1", UID: "2", Account: "caller", AccountUID: "1"}
	if got, ok := k.BoundPod(bound, noon); !ok || got != want {
		t.Errorf("BoundPod() = %+v, %t, want %+v", got, ok, want)
	}
	for name, token := range map[string]string{
		"no pod":           with(func(_, kubernetes map[string]any) { delete(kubernetes, "pod") }),
		"another audience": with(func(c, _ map[string]any) { c["aud"] = "other.team.a2a-operator.dev" }),
		"another subject":  with(func(c, _ map[string]any) { c["sub"] = "system:serviceaccount:team:other" }),
		"expired":          with(func(c, _ map[string]any) { c["exp"] = noon.Add(-time.Hour).Unix() }),
		"another issuer":   with(func(c, _ map[string]any) { c["iss"] = "https://other.example" }),
		"another key":      with(func(c, _ map[string]any) { c["iss"] = registryIssuer }),
		"not signed":       bound[:strings.LastIndexByte(bound, '.')+1] + "AAAA",
		"no token":         "abc",
	} {
		if got, ok := k.BoundPod(token, noon); ok {
			t.Errorf("%s: BoundPod() = %+v", name, got)
		}
	}
}

func TestKeysOfOneIssuerVerifyNoTokenOfTheOther(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	k := newTwoIssuers(t, cluster, registry, func() time.Time { return noon })
	key := func(s *signer) jose.JSONWebKey { return jose.JSONWebKey{Key: s.ecdsa, KeyID: "e"} }
	for name, token := range map[string]string{
		"registry's claims by a key of the cluster": sign(t, jose.ES256, key(cluster), registryClaims(nil)),
		"cluster's claims by a key of the registry": sign(t, jose.ES256, key(registry), claims()),
		"no issuer, by a key of the registry":       sign(t, jose.ES256, key(registry), registryClaims(map[string]any{"iss": ""})),
		"another agent":                             sign(t, jose.ES256, key(registry), registryClaims(map[string]any{"aud": "other.team.a2a-operator.dev"})),
		"the registry's audience":                   sign(t, jose.ES256, key(registry), registryClaims(map[string]any{"aud": "a2a-operator.dev"})),
		"no ServiceAccount":                         sign(t, jose.ES256, key(registry), registryClaims(map[string]any{"sub": "jane"})),
	} {
		if got, err := k.Authenticate(request("Bearer " + token)); err == nil {
			t.Errorf("%s: Authenticate() = %+v, want an error", name, got)
		}
	}
}

// A sidecar accepts a token if its clock and the clock of the registry differ by at most
// one minute.
func TestClockSkewOfAMinuteIsAccepted(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	for name, test := range map[string]struct {
		difference, age time.Duration
		refused         string
	}{
		"registry ahead":              {50 * time.Second, 0, ""},
		"registry too far ahead":      {70 * time.Second, 0, "Token is not valid yet"},
		"accepted after a while":      {70 * time.Second, 15 * time.Second, ""},
		"registry behind":             {-50 * time.Second, 10 * time.Minute, ""},
		"registry far behind":         {-70 * time.Second, 9 * time.Minute, ""},
		"too far behind at its end":   {-70 * time.Second, 10 * time.Minute, "Token has expired"},
		"ten minutes behind":          {-11 * time.Minute, time.Second, "Token has expired"},
		"equal clocks, at its expiry": {0, 10 * time.Minute, ""},
	} {
		issued := noon.Add(test.difference)
		token := sign(t, jose.ES256, jose.JSONWebKey{Key: registry.ecdsa, KeyID: "e"}, registryClaims(map[string]any{
			"iat": issued.Unix(), "exp": issued.Add(10 * time.Minute).Unix(),
		}))
		_, err := newTwoIssuers(t, cluster, registry, func() time.Time { return noon.Add(test.age) }).Authenticate(request("Bearer " + token))
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: Authenticate() error = %v, want %q", name, err, test.refused)
		}
	}
}
