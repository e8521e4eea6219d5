// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	issuer   = "https://kubernetes.default.svc"
	audience = "echo.team.a2a-operator.dev"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// signer issues the tokens of one issuer.
type signer struct {
	rsa   *rsa.PrivateKey
	ecdsa *ecdsa.PrivateKey
}

func newSigner(tb testing.TB) *signer {
	tb.Helper()
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &signer{r, e}
}

func (s *signer) keys(tb testing.TB) []byte {
	tb.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: s.rsa.Public(), KeyID: "r", Algorithm: "RS256", Use: "sig"},
		{Key: s.ecdsa.Public(), KeyID: "e", Algorithm: "ES256", Use: "sig"},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// claims are the claims of a valid token.
func claims() map[string]any {
	return map[string]any{
		"iss": issuer, "sub": "system:serviceaccount:team:caller", "aud": []string{audience, "other"},
		"exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix(), "iat": noon.Unix(),
		"kubernetes.io": map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": "caller", "uid": "1"}},
	}
}

func sign(tb testing.TB, algorithm jose.SignatureAlgorithm, key any, claims any) string {
	tb.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

func (s *signer) token(tb testing.TB, change func(map[string]any)) string {
	tb.Helper()
	c := claims()
	if change != nil {
		change(c)
	}
	return sign(tb, jose.RS256, jose.JSONWebKey{Key: s.rsa, KeyID: "r"}, c)
}

func newKubernetes(tb testing.TB, s *signer, now func() time.Time) *Kubernetes {
	tb.Helper()
	k, err := NewKubernetes(KubernetesConfig{
		Issuers: []KubernetesIssuer{{Issuer: issuer, Audiences: []string{audience}, Keys: s.keys(tb)}}, Now: now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	for _, h := range headers {
		r.Header.Add("Authorization", h)
	}
	return r
}

func TestKubernetesAccepts(t *testing.T) {
	s := newSigner(t)
	k := newKubernetes(t, s, func() time.Time { return noon })
	want := Caller{Owner: "system:serviceaccount:team:caller#1", Individual: "system:serviceaccount:team:caller", Namespace: "team"}
	tests := map[string]string{
		"RS256":             s.token(t, nil),
		"ES256":             sign(t, jose.ES256, jose.JSONWebKey{Key: s.ecdsa, KeyID: "e"}, claims()),
		"no key id":         sign(t, jose.ES256, s.ecdsa, claims()),
		"second audience":   s.token(t, func(c map[string]any) { c["aud"] = []string{"other", audience} }),
		"expired just now":  s.token(t, func(c map[string]any) { c["exp"] = noon.Add(-5 * time.Second).Unix() }),
		"valid in a moment": s.token(t, func(c map[string]any) { c["nbf"] = noon.Add(5 * time.Second).Unix() }),
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second token comes from the cache
				got, err := k.Authenticate(request("bearer " + token))
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("Authenticate() (-want +got):\n%s%v", diff, err)
				}
			}
		})
	}
}

func TestKubernetesRefuses(t *testing.T) {
	s, stranger := newSigner(t), newSigner(t)
	k := newKubernetes(t, s, func() time.Time { return noon })
	set := func(name string, value any) func(map[string]any) {
		return func(c map[string]any) { c[name] = value }
	}
	good := s.token(t, nil)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	public, err := json.Marshal(jose.JSONWebKey{Key: s.rsa.Public()})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"empty":                    "",
		"garbage":                  "abc",
		"two parts":                parts[0] + "." + parts[1],
		"four parts":               good + ".x",
		"no signature":             parts[0] + "." + parts[1] + ".",
		"signature of another":     parts[0] + "." + parts[1] + "." + strings.Split(s.token(t, set("jti", "x")), ".")[2],
		"changed claims":           parts[0] + "." + encode([]byte(strings.Replace(string(body), "caller", "root", 2))) + "." + parts[2],
		"alg none":                 encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"alg None":                 encode([]byte(`{"alg":"None"}`)) + "." + parts[1] + "." + parts[2],
		"public key as secret":     sign(t, jose.HS256, public, claims()),
		"HS256 with key id":        sign(t, jose.HS256, jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32)), KeyID: "r"}, claims()),
		"PS256":                    sign(t, jose.PS256, jose.JSONWebKey{Key: s.rsa, KeyID: "r"}, claims()),
		"RS512 by a key for RS256": sign(t, jose.RS512, jose.JSONWebKey{Key: s.rsa, KeyID: "r"}, claims()),
		"key of another issuer":    stranger.token(t, nil),
		"unknown key id":           sign(t, jose.RS256, jose.JSONWebKey{Key: s.rsa, KeyID: "x"}, claims()),
		"key id of another key":    sign(t, jose.RS256, jose.JSONWebKey{Key: s.rsa, KeyID: "e"}, claims()),
		"expired":                  s.token(t, set("exp", noon.Add(-leeway-time.Second).Unix())),
		"no expiry":                s.token(t, func(c map[string]any) { delete(c, "exp") }),
		"expiry as text":           s.token(t, set("exp", "later")),
		"not yet":                  s.token(t, set("nbf", noon.Add(leeway+time.Second).Unix())),
		"issued in the future":     s.token(t, set("iat", noon.Add(time.Hour).Unix())),
		"other issuer":             s.token(t, set("iss", "https://evil.example")),
		"issuer with a slash":      s.token(t, set("iss", issuer+"/")),
		"no issuer":                s.token(t, func(c map[string]any) { delete(c, "iss") }),
		"other audience":           s.token(t, set("aud", "echo2.team.a2a-operator.dev")),
		"the registry's audience":  s.token(t, set("aud", "a2a-operator.dev")),
		"part of the audience":     s.token(t, set("aud", "team.a2a-operator.dev")),
		"API server's audience":    s.token(t, set("aud", []string{issuer})),
		"no audience":              s.token(t, func(c map[string]any) { delete(c, "aud") }),
		"empty audience":           s.token(t, set("aud", []string{})),
		"a user":                   s.token(t, set("sub", "alice")),
		"a node":                   s.token(t, set("sub", "system:node:n1")),
		"subject of another":       s.token(t, set("sub", "system:serviceaccount:kube-system:admin")),
		"no kubernetes claim":      s.token(t, func(c map[string]any) { delete(c, "kubernetes.io") }),
		"namespace of another":     s.token(t, set("kubernetes.io", map[string]any{"namespace": "kube-system", "serviceaccount": map[string]any{"name": "caller"}})),
		"too long":                 good + strings.Repeat("A", maxToken),
		"JSON serialization":       fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2]),
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := k.Authenticate(request("Bearer " + token))
			problem, ok := errors.AsType[*a2a.Error](err)
			if !ok || problem.Reason != a2a.ReasonUnauthenticated || got != (Caller{}) {
				t.Fatalf("Authenticate() = %+v, %v, want unauthenticated", got, err)
			}
			if strings.Contains(problem.Message, parts[2]) {
				t.Error("message contains the token")
			}
		})
	}
	t.Run("two headers", func(t *testing.T) {
		if _, err := k.Authenticate(request("Bearer "+good, "Bearer "+good)); err == nil {
			t.Error("Authenticate() accepts a request with two credentials")
		}
	})
	for name, r := range map[string]*http.Request{"none": request(), "basic": request("Basic eDp5"), "empty": request("")} {
		t.Run("no credential: "+name, func(t *testing.T) {
			if _, err := k.Authenticate(r); !errors.Is(err, ErrNoCredential) {
				t.Errorf("Authenticate() error = %v, want ErrNoCredential", err)
			}
		})
	}
}

func TestTokenCacheExpiresAndIsBounded(t *testing.T) {
	s := newSigner(t)
	now := noon
	k := newKubernetes(t, s, func() time.Time { return now })
	token := s.token(t, func(c map[string]any) { c["exp"] = noon.Add(time.Minute).Unix() })
	if _, err := k.Authenticate(request("Bearer " + token)); err != nil {
		t.Fatal(err)
	}
	now = noon.Add(time.Minute + 2*leeway)
	if _, err := k.Authenticate(request("Bearer " + token)); err == nil {
		t.Error("an expired token is still accepted")
	}
	for i := range 2 * maxVerifiedBytes / callerBytes {
		k.verified.put(fmt.Sprint(i), Caller{}, now.Add(time.Hour), now)
	}
	if n, _ := k.verified.entries.Size(); n > maxVerifiedBytes/callerBytes {
		t.Errorf("%d tokens are cached", n)
	}
}

func TestNewKubernetesRefusesKeys(t *testing.T) {
	for name, keys := range map[string]string{
		"no JSON":   `x`,
		"no keys":   `{"keys":[]}`,
		"symmetric": `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`,
	} {
		if _, err := NewKubernetes(KubernetesConfig{Issuers: []KubernetesIssuer{{Issuer: issuer, Audiences: []string{audience}, Keys: []byte(keys)}}, Now: time.Now}); err == nil {
			t.Errorf("NewKubernetes() with %s gives no error", name)
		}
	}
}

func TestGate(t *testing.T) {
	s := newSigner(t)
	k := newKubernetes(t, s, func() time.Time { return noon })
	other := s.token(t, func(c map[string]any) {
		c["sub"] = "system:serviceaccount:other:caller"
		c["kubernetes.io"] = map[string]any{"namespace": "other", "serviceaccount": map[string]any{"name": "caller"}}
	})
	own := s.token(t, nil)
	const challenge, invalid = `Bearer realm="a2a"`, `Bearer realm="a2a", error="invalid_token"`
	tests := map[string]struct {
		policy     Policy
		credential string
		status     int
		challenge  string
		owner      a2a.Owner
	}{
		"no authenticator":            {Policy{}, "Bearer " + own, 401, invalid, ""},
		"no credential":               {Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"team"}}, "", 401, challenge, ""},
		"another kind":                {Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"team"}}, "Basic eDp5", 401, invalid, ""},
		"bad token":                   {Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"team"}}, "Bearer x", 401, invalid, ""},
		"own namespace":               {Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"team"}}, "Bearer " + own, 200, "", "system:serviceaccount:team:caller#1"},
		"other namespace":             {Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"team"}}, "Bearer " + other, 403, "", ""},
		"all namespaces":              {Policy{Authenticators: []Authenticator{k}, Namespaces: []string{"*"}}, "Bearer " + other, 200, "", "system:serviceaccount:other:caller"},
		"no namespaces":               {Policy{Authenticators: []Authenticator{k}}, "Bearer " + own, 403, "", ""},
		"anonymous":                   {Policy{Authenticators: []Authenticator{Anonymous{}}}, "", 200, "", AnonymousOwner},
		"anonymous as well, no token": {Policy{Authenticators: []Authenticator{k, Anonymous{}}, Namespaces: []string{"team"}}, "", 200, "", AnonymousOwner},
		"anonymous as well, a token":  {Policy{Authenticators: []Authenticator{k, Anonymous{}}, Namespaces: []string{"team"}}, "Bearer " + own, 200, "", "system:serviceaccount:team:caller#1"},
		"anonymous as well, bad":      {Policy{Authenticators: []Authenticator{k, Anonymous{}}, Namespaces: []string{"team"}}, "Bearer x", 401, invalid, ""},
		"anonymous as well, other":    {Policy{Authenticators: []Authenticator{k, Anonymous{}}, Namespaces: []string{"team"}}, "Basic eDp5", 401, invalid, ""},
		"anonymous only, any":         {Policy{Authenticators: []Authenticator{Anonymous{}}}, "Bearer x", 200, "", AnonymousOwner},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var owner a2a.Owner
			gate := NewGate(&test.policy, func(w http.ResponseWriter, _ *http.Request, problem *a2a.Error) {
				status := map[a2a.Reason]int{a2a.ReasonUnauthenticated: 401, a2a.ReasonPermissionDenied: 403}[problem.Reason]
				http.Error(w, problem.Message, status)
			})
			h := gate.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				caller, _ := CallerFrom(r.Context())
				owner = caller.Owner
			}))
			r := request()
			if test.credential != "" {
				r = request(test.credential)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.status || owner != test.owner || w.Header().Get("WWW-Authenticate") != test.challenge {
				t.Errorf("status %d, owner %q, challenge %q: %s", w.Code, owner, w.Header().Get("WWW-Authenticate"), w.Body)
			}
		})
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	s := newSigner(b)
	r := request("Bearer " + s.token(b, nil))
	b.Run("remembered", func(b *testing.B) {
		k := newKubernetes(b, s, func() time.Time { return noon })
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.Authenticate(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verified", func(b *testing.B) {
		k := newKubernetes(b, s, func() time.Time { return noon })
		for b.Loop() {
			if _, _, err := k.verify(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), noon); err != nil {
				b.Fatal(err)
			}
		}
	})
}
