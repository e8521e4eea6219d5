// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
)

const (
	delegate = "system:serviceaccount:team:caller"
	subject1 = "jwt:https://id.example.com#u1"
)

// delegatedClaims are the claims of a token with which the ServiceAccount caller acts for the person u1.
func delegatedClaims(changes map[string]any) map[string]any {
	c := registryClaims(map[string]any{
		"sub": subject1, "act": map[string]any{"sub": delegate},
		SubjectClaimName: map[string]any{
			"owner": subject1, "issuer": "https://id.example.com", "claims": map[string]any{"sub": "u1", "email": "u1@example.com", "groups": []string{"finance"}},
		},
	})
	for name, value := range changes {
		c[name] = value
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

// newDelegating returns an authenticator for tokens of the cluster and of the registry, which delegates.
func newDelegating(t *testing.T, cluster, registry *signer, change func(*KubernetesConfig)) *Kubernetes {
	t.Helper()
	c := KubernetesConfig{Now: func() time.Time { return noon }, Issuers: []KubernetesIssuer{
		{Issuer: issuer, Audiences: []string{audience}, Keys: cluster.keys(t)},
		{Issuer: registryIssuer, Audiences: []string{audience}, Keys: registry.keys(t), Delegates: true},
	}}
	if change != nil {
		change(&c)
	}
	k, err := NewKubernetes(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *signer) sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	return sign(t, jose.ES256, jose.JSONWebKey{Key: s.ecdsa, KeyID: "e"}, claims)
}

func TestDelegatedTokenNamesCallerAndSubject(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	named := []JWTConfig{{Issuer: "https://id.example.com", PrincipalClaim: "email", NamespaceClaim: "no-such-claim"}}
	tests := map[string]struct {
		change func(*KubernetesConfig)
		claims map[string]any
		want   Subject
	}{
		"proven": {nil, nil, Subject{Principal: subject1, Owner: subject1, Issuer: "https://id.example.com", Actors: []string{delegate}}},
		"with the claims of this agent's issuer": {func(c *KubernetesConfig) { c.People = named }, nil, Subject{
			Principal: "jwt:https://id.example.com#u1@example.com", Owner: subject1, Issuer: "https://id.example.com", Actors: []string{delegate},
		}},
		"with claims": {func(c *KubernetesConfig) { c.KeepClaims = true }, nil, Subject{
			Principal: subject1, Owner: subject1, Issuer: "https://id.example.com", Actors: []string{delegate},
			Claims: &authz.Claims{"sub": "u1", "email": "u1@example.com", "groups": []any{"finance"}},
		}},
		"a ServiceAccount": {nil, map[string]any{
			"sub": "system:serviceaccount:apps:web", SubjectClaimName: map[string]any{"owner": "system:serviceaccount:apps:web#9"},
		}, Subject{Principal: "system:serviceaccount:apps:web", Owner: "system:serviceaccount:apps:web#9", Actors: []string{delegate}}},
		"asserted in a chain": {nil, map[string]any{
			"sub": "apikey:shop", SubjectClaimName: map[string]any{"owner": "apikey:shop", "assertedBy": "system:serviceaccount:x:y"},
			"act": map[string]any{"sub": delegate, "act": map[string]any{"sub": "system:serviceaccount:x:y"}},
		}, Subject{Principal: "apikey:shop", Owner: "apikey:shop", AssertedBy: "system:serviceaccount:x:y", Actors: []string{delegate, "system:serviceaccount:x:y"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k := newDelegating(t, cluster, registry, test.change)
			token := registry.sign(t, delegatedClaims(test.claims))
			policy := &Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"team"}}
			for range 2 { // the second time, the caller comes from the cache
				caller, err := policy.Decide(request("Bearer " + token))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&test.want, caller.Subject); diff != "" {
					t.Errorf("subject (-want +got):\n%s", diff)
				}
				if caller.Owner != a2a.Owner(delegate+"#1").For(test.want.Owner) || caller.Principal() != delegate || caller.Namespace != "team" {
					t.Errorf("owner %q, principal %q, namespace %q", caller.Owner, caller.Principal(), caller.Namespace)
				}
				if caller.Owner.Subject() != test.want.Owner {
					t.Errorf("subject of the owner: %q", caller.Owner.Subject())
				}
				if c := caller.Claims; c != nil && ((*c)["sub"] != delegate || (*c)["act"] != nil || (*c)[SubjectClaimName] != nil) {
					t.Errorf("claims of the caller: %v", *c)
				}
				next := caller.OnBehalf()
				if string(next.Credential) != token || next.Principal != test.want.Principal || next.Owner != caller.Owner ||
					next.Proven != test.want.Proven() || !cmp.Equal(next.Actors, test.want.Actors) {
					t.Errorf("subject of the next hop: %+v", next)
				}
				if text := fmt.Sprintf("%v %+v %#v %s", caller, next, next.Credential, next.Credential); strings.Contains(text, token) {
					t.Errorf("a text has the token: %s", text)
				}
			}
		})
	}
}

func TestHostileDelegatedTokensAreRefused(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	k := newDelegating(t, cluster, registry, nil)
	chain := func(n int) map[string]any {
		all := map[string]any{"sub": "system:serviceaccount:x:first"}
		for range n - 2 {
			all = map[string]any{"sub": "system:serviceaccount:x:more", "act": all}
		}
		return map[string]any{"sub": delegate, "act": all}
	}
	tests := map[string]map[string]any{
		"the actor is another one":     {"act": map[string]any{"sub": "system:serviceaccount:team:other"}},
		"no actor":                     {"act": nil},
		"no subject":                   {SubjectClaimName: nil},
		"no claim sub":                 {"sub": ""},
		"sub with a control character": {"sub": "jwt:x#\x1fu"},
		"no owner":                     {SubjectClaimName: map[string]any{}},
		"six actors":                   {"act": chain(6)},
		"an actor without a name":      {"act": map[string]any{"sub": delegate, "act": map[string]any{}}},
		"a person without sub":         {SubjectClaimName: map[string]any{"owner": subject1, "issuer": "https://id.example.com"}},
		"another audience":             {"aud": []string{"other.team.a2a-operator.dev"}},
		"expired":                      {"exp": noon.Add(-2 * time.Minute).Unix()},
		"a UID with a mark":            {"kubernetes.io": map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": "caller", "uid": "1 for x"}}},
	}
	for name, changes := range tests {
		if caller, err := k.Authenticate(request("Bearer " + registry.sign(t, delegatedClaims(changes)))); err == nil {
			t.Errorf("%s: accepted as %+v", name, caller)
		}
	}
	if _, err := k.Authenticate(request("Bearer " + registry.sign(t, delegatedClaims(map[string]any{"act": chain(5)})))); err != nil {
		t.Errorf("five actors: %v", err)
	}
	// The cluster does not delegate: nobody can ask it for such a token, and nobody has to believe one.
	for name, signer := range map[string]*signer{"signed by the cluster": cluster, "signed by another key": newSigner(t)} {
		if caller, err := k.Authenticate(request("Bearer " + signer.sign(t, delegatedClaims(map[string]any{"iss": issuer})))); err == nil {
			t.Errorf("%s: accepted as %+v", name, caller)
		}
	}
}

func TestDelegationOfThePolicy(t *testing.T) {
	cluster, registry := newSigner(t), newSigner(t)
	delegated, direct := registry.sign(t, delegatedClaims(nil)), cluster.token(t, nil)
	person := newJWT(known(t, newKeyring(t).set(t), noon), nil)
	tests := map[string]struct {
		delegation Delegation
		token      string
		owner      a2a.Owner
		refused    bool
	}{
		"accept":                      {"", delegated, delegate + "#1 for " + subject1, false},
		"accept without a subject":    {"", direct, delegate + "#1", false},
		"require":                     {DelegationRequire, delegated, delegate + "#1 for " + subject1, false},
		"require without a subject":   {DelegationRequire, direct, "", true},
		"ignore":                      {DelegationIgnore, delegated, delegate + "#1", false},
		"ignore without a subject":    {DelegationIgnore, direct, delegate + "#1", false},
		"require, and an anonymous":   {DelegationRequire, "", AnonymousOwner, false},
		"accept, and another's token": {"", "x.y.z", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy := &Policy{
				Authenticators: []Authenticator{newDelegating(t, cluster, registry, nil), person, Anonymous{}},
				Namespaces:     []string{"team"}, Delegation: test.delegation,
			}
			r := request("Bearer " + test.token)
			if test.token == "" {
				r.Header.Del("Authorization")
			}
			caller, err := policy.Decide(r)
			if problem, _ := errors.AsType[*a2a.Error](err); (problem != nil) != test.refused || problem == nil && caller.Owner != test.owner {
				t.Errorf("Decide() = %q, %v, want %q, refused %v", caller.Owner, err, test.owner, test.refused)
			}
			next := caller.OnBehalf()
			if err == nil && test.delegation == DelegationIgnore && test.token == delegated && (next.Credential != "" || next.Principal != delegate || caller.Subject != nil) {
				t.Errorf("subject of the next hop: %+v", next)
			}
			if err == nil && caller.Anonymous && next.Credential != "" {
				t.Error("an anonymous caller has a credential")
			}
		})
	}
}

// TestPersonKeepsTheOwnerOfItsSub checks that a claim that people can set is not the owner of their tasks at other agents.
func TestPersonKeepsTheOwnerOfItsSub(t *testing.T) {
	key := newKeyring(t)
	for name, change := range map[string]func(*JWTConfig){
		"no other claim":       func(*JWTConfig) {},
		"another principal":    func(c *JWTConfig) { c.PrincipalClaim = "nickname" },
		"an owner that shares": func(c *JWTConfig) { c.OwnerClaim = "nickname" },
	} {
		j := newJWT(known(t, key.set(t), noon), change)
		caller, err := j.Authenticate(request("Bearer " + sign(t, jose.ES384, jose.JSONWebKey{Key: key.p384, KeyID: "p384"}, jwtClaims(func(c map[string]any) {
			c["sub"] = "eve"
			c["nickname"] = "u1"
		}))))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if next := caller.OnBehalf(); next.Owner != "jwt:"+oidcIssuer+"#eve" || next.Proven {
			t.Errorf("%s: %+v", name, next)
		}
		// After a takeover, the agent only knows the owner of its own task.
		if later := a2a.SubjectOf(caller.Owner); later.Owner == "jwt:"+oidcIssuer+"#u1" {
			t.Errorf("%s: after a takeover, eve has the owner of the person u1", name)
		}
	}
}

// TestApproversRuleOnTheSubject checks that a rule of approvers tells the person for whom an agent passes a decision on.
func TestApproversRuleOnTheSubject(t *testing.T) {
	checked, err := celcompile.CompileApprovers("", `subject.proven && subject.principal == "boss" && !caller.ownsTask`)
	if err != nil {
		t.Fatal(err)
	}
	approvers, err := authz.New([]authz.Rule{{Allow: true, Expression: checked}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		subject *Subject
		want    bool
	}{
		"the agent itself": {nil, false},
		"the boss":         {&Subject{Principal: "boss"}, true},
		"another person":   {&Subject{Principal: "u1"}, false},
		"asserted":         {&Subject{Principal: "boss", AssertedBy: "agent"}, false},
	} {
		caller := Caller{Owner: "agent", Subject: test.subject, Policy: &Policy{Approvers: approvers}}
		if got := caller.MayDecide(false, ""); got != test.want {
			t.Errorf("%s: MayDecide() = %v", name, got)
		}
	}
}
