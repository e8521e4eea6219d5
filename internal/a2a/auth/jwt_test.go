// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// weakKey returns an RSA key that is shorter than the minimum.
func weakKey(tb testing.TB) *rsa.PrivateKey {
	tb.Helper()
	former := os.Getenv("GODEBUG")
	tb.Setenv("GODEBUG", strings.TrimPrefix(former+",rsa1024min=0", ","))
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// keyring contains a key of every type, and signs tokens with them.
type keyring struct {
	rsa, weak *rsa.PrivateKey
	p256      *ecdsa.PrivateKey
	p384      *ecdsa.PrivateKey
	ed        ed25519.PrivateKey
}

func newKeyring(tb testing.TB) *keyring {
	tb.Helper()
	k := &keyring{weak: weakKey(tb)}
	var errs [4]error
	k.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	k.p256, errs[1] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	k.p384, errs[2] = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, k.ed, errs[3] = ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(errs[:]...); err != nil {
		tb.Fatal(err)
	}
	return k
}

func (k *keyring) set(tb testing.TB) []byte {
	tb.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: k.rsa.Public(), KeyID: "rsa"},
		{Key: k.p256.Public(), KeyID: "p256", Algorithm: "ES256"},
		{Key: k.p384.Public(), KeyID: "p384"},
		{Key: k.ed.Public(), KeyID: "ed"},
		{Key: k.weak.Public(), KeyID: "weak"},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// known returns an IssuerKeys whose keys have just been fetched.
func known(tb testing.TB, text []byte, now time.Time) *IssuerKeys {
	tb.Helper()
	k := newIssuerKeys(&provider{}, KeySource{Issuer: oidcIssuer})
	keys, err := parseKeys(text)
	if err != nil {
		tb.Fatal(err)
	}
	k.state.Store(&fetchedKeys{&keySet{text, keys}, now})
	return k
}

func newJWT(keys *IssuerKeys, change func(*JWTConfig)) *JWT {
	c := JWTConfig{Issuer: oidcIssuer, Audiences: []string{"echo", "echo-too"}, Keys: keys, Now: func() time.Time { return noon }}
	if change != nil {
		change(&c)
	}
	return NewJWT(c)
}

func jwtClaims(change func(map[string]any)) map[string]any {
	c := map[string]any{
		"iss": oidcIssuer, "sub": "alice", "aud": "echo", "client_id": "cli",
		"exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix(), "iat": noon.Unix(),
	}
	if change != nil {
		change(c)
	}
	return c
}

var encode = base64.RawURLEncoding.EncodeToString

// signText signs a token with any headers and claims.
func signText(tb testing.TB, algorithm jose.SignatureAlgorithm, key any, headers map[jose.HeaderKey]any, claims string) string {
	tb.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, &jose.SignerOptions{ExtraHeaders: headers})
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := s.Sign([]byte(claims))
	if err != nil {
		tb.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

func TestJWTAccepts(t *testing.T) {
	k := newKeyring(t)
	keys := known(t, k.set(t), noon)
	with := func(key any, id string) jose.JSONWebKey { return jose.JSONWebKey{Key: key, KeyID: id} }
	typed := func(value string) string {
		text, err := json.Marshal(jwtClaims(nil))
		if err != nil {
			t.Fatal(err)
		}
		return signText(t, jose.ES256, with(k.p256, "p256"), map[jose.HeaderKey]any{"typ": value}, string(text))
	}
	set := func(claim string, value any) string {
		return sign(t, jose.ES256, with(k.p256, "p256"), jwtClaims(func(c map[string]any) { c[claim] = value }))
	}
	tests := map[string]string{
		"RS256":             sign(t, jose.RS256, with(k.rsa, "rsa"), jwtClaims(nil)),
		"PS384":             sign(t, jose.PS384, with(k.rsa, "rsa"), jwtClaims(nil)),
		"ES256":             sign(t, jose.ES256, with(k.p256, "p256"), jwtClaims(nil)),
		"ES384":             sign(t, jose.ES384, with(k.p384, "p384"), jwtClaims(nil)),
		"EdDSA":             sign(t, jose.EdDSA, with(k.ed, "ed"), jwtClaims(nil)),
		"no key id":         sign(t, jose.ES384, k.p384, jwtClaims(nil)),
		"an access token":   typed("at+jwt"),
		"an ID token":       typed("JWT"),
		"a media type":      typed("application/at+JWT"),
		"many audiences":    set("aud", []string{"x", "echo-too"}),
		"expired just now":  set("exp", noon.Add(-50*time.Second).Unix()),
		"valid in a moment": set("nbf", noon.Add(50*time.Second).Unix()),
	}
	want := Caller{Owner: "jwt:" + oidcIssuer + "#alice", Unscoped: true}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			j := newJWT(keys, nil)
			for range 2 { // the second token comes from the cache
				got, err := j.Authenticate(request("Bearer " + token))
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("Authenticate() (-want +got):\n%s%v", diff, err)
				}
			}
		})
	}
	t.Run("claims", func(t *testing.T) {
		j := newJWT(keys, func(c *JWTConfig) { c.PrincipalClaim, c.NamespaceClaim = "client_id", "ns" })
		got, err := j.Authenticate(request("Bearer " + set("ns", "team")))
		if diff := cmp.Diff(Caller{Owner: "jwt[client_id]:" + oidcIssuer + "#cli", Individual: "jwt:" + oidcIssuer + "#cli", Person: "jwt:" + oidcIssuer + "#alice", Namespace: "team"}, got); diff != "" || err != nil {
			t.Errorf("Authenticate() (-want +got):\n%s%v", diff, err)
		}
		if _, err := j.Authenticate(request("Bearer " + tests["RS256"])); err == nil {
			t.Error("a token without the claim of the namespace is accepted")
		}
	})
}

// TestJWTRefuses checks that every hostile token is answered with 401 and reaches no
// handler.
func TestJWTRefuses(t *testing.T) {
	k := newKeyring(t)
	keys := known(t, k.set(t), noon)
	attacker := newSigner(t)
	good := jose.JSONWebKey{Key: k.p256, KeyID: "p256"}
	claims, err := json.Marshal(jwtClaims(nil))
	if err != nil {
		t.Fatal(err)
	}
	text := string(claims)
	token := signText(t, jose.ES256, good, nil, text)
	parts := strings.Split(token, ".")

	der, err := x509.MarshalPKIXPublicKey(k.rsa.Public())
	if err != nil {
		t.Fatal(err)
	}
	pemText := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	jwk, err := json.Marshal(jose.JSONWebKey{Key: k.rsa.Public(), KeyID: "rsa"})
	if err != nil {
		t.Fatal(err)
	}
	edPublic := []byte(k.ed.Public().(ed25519.PublicKey))
	jwe := func() string {
		e, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: k.rsa.Public()}, (&jose.EncrypterOptions{}).WithContentType("JWT"))
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := e.Encrypt([]byte(token))
		if err != nil {
			t.Fatal(err)
		}
		out, err := sealed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	head := func(header string) string { return encode([]byte(header)) + "." + parts[1] + "." + parts[2] }
	kid := func(id string) string {
		return signText(t, jose.RS256, jose.JSONWebKey{Key: attacker.rsa, KeyID: id}, nil, text)
	}
	header := func(name jose.HeaderKey, value any) string {
		return signText(t, jose.RS256, jose.JSONWebKey{Key: attacker.rsa, KeyID: "rsa"}, map[jose.HeaderKey]any{name: value}, text)
	}
	own := func(name jose.HeaderKey, value any) string {
		return signText(t, jose.ES256, good, map[jose.HeaderKey]any{name: value}, text)
	}
	set := func(name string, value any) string {
		return sign(t, jose.ES256, good, jwtClaims(func(c map[string]any) { c[name] = value }))
	}
	without := func(name string) string {
		return sign(t, jose.ES256, good, jwtClaims(func(c map[string]any) { delete(c, name) }))
	}
	raw := func(claims string) string { return signText(t, jose.ES256, good, nil, claims) }
	hmac := func(secret []byte) string {
		for len(secret) < 32 {
			secret = append(secret, 0)
		}
		return signText(t, jose.HS256, jose.JSONWebKey{Key: secret, KeyID: "rsa"}, nil, text)
	}
	tests := map[string]string{
		"empty":                         "",
		"garbage":                       "x",
		"one dot":                       parts[0] + "." + parts[1],
		"four parts":                    token + ".x",
		"a million dots":                strings.Repeat(".", 1_000_000),
		"dots within the bound":         strings.Repeat(".", maxToken),
		"a megabyte":                    token + strings.Repeat("A", 1<<20),
		"JSON serialization":            `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"a line break":                  parts[0] + "\n." + parts[1] + "." + parts[2],
		"padding":                       parts[0] + "=." + parts[1] + "." + parts[2],
		"alg none":                      encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"alg None":                      encode([]byte(`{"alg":"None"}`)) + "." + parts[1] + ".",
		"alg NONE, signed":              head(`{"alg":"NONE"}`),
		"alg nOnE with key id":          head(`{"alg":"nOnE","kid":"p256"}`),
		"no alg":                        head(`{"kid":"p256"}`),
		"empty alg":                     head(`{"alg":""}`),
		"alg null":                      head(`{"alg":null}`),
		"alg as number":                 head(`{"alg":7}`),
		"alg in lower case":             head(`{"alg":"es256","kid":"p256"}`),
		"two algs":                      head(`{"alg":"none","alg":"ES256","kid":"p256"}`),
		"header of an array":            head(`[]`),
		"no signature":                  parts[0] + "." + parts[1] + ".",
		"zero signature":                parts[0] + "." + parts[1] + "." + encode(make([]byte, 64)),
		"signature as DER":              parts[0] + "." + parts[1] + "." + encode([]byte{0x30, 6, 2, 1, 0, 2, 1, 0}),
		"signature of other claims":     parts[0] + "." + parts[1] + "." + strings.Split(set("jti", "x"), ".")[2],
		"changed claims":                parts[0] + "." + encode([]byte(strings.Replace(text, "alice", "root", 1))) + "." + parts[2],
		"HS256 with the key as PEM":     hmac(pemText),
		"HS256 with the key as DER":     hmac(der),
		"HS256 with the key as JWK":     hmac(jwk),
		"HS256 with the Ed25519 key":    hmac(edPublic),
		"HS256 with an empty key":       hmac(nil),
		"RSA of 1024 bits":              signText(t, jose.RS256, jose.JSONWebKey{Key: k.weak, KeyID: "weak"}, nil, text),
		"key id of another curve":       signText(t, jose.ES256, jose.JSONWebKey{Key: attacker.ecdsa, KeyID: "p384"}, nil, text),
		"key of an attacker":            kid("rsa"),
		"key of an attacker, no id":     kid(""),
		"key id of another kind of key": kid("ed"),
		"key id up the tree":            kid("../../../../dev/null"),
		"key id of SQL":                 kid("x' UNION SELECT 'secret' --"),
		"key id of a URL":               kid("https://evil.example/keys"),
		"key id of a megabyte":          kid(strings.Repeat("k", 1<<20)),
		"key id with a zero byte":       kid("rsa\x00"),
		"key id as number":              head(`{"alg":"ES256","kid":1}`),
		"jwk header":                    header("jwk", jose.JSONWebKey{Key: attacker.rsa.Public(), KeyID: "rsa"}),
		"jku header":                    header("jku", "https://evil.example/keys"),
		"x5u header":                    header("x5u", "https://evil.example/cert.pem"),
		"x5c header":                    header("x5c", []string{"AAAA"}),
		"crit of the unknown":           own("crit", []string{"exp"}),
		"crit of b64":                   head(`{"alg":"ES256","kid":"p256","crit":["b64"],"b64":false}`),
		"empty crit":                    own("crit", []string{}),
		"typ of a logout token":         own("typ", "logout+jwt"),
		"typ of a DPoP proof":           own("typ", "dpop+jwt"),
		"typ as number":                 own("typ", 7),
		"a nested JWE":                  jwe(),
		"expired":                       set("exp", noon.Add(-2*time.Minute).Unix()),
		"no expiry":                     without("exp"),
		"expiry null":                   set("exp", nil),
		"expiry as text":                set("exp", "4102444800"),
		"expiry beyond all time":        raw(strings.Replace(text, `"exp":`, `"exp":1e308,"x":`, 1)),
		"expiry negative":               set("exp", -1),
		"not yet":                       set("nbf", noon.Add(2*time.Minute).Unix()),
		"not before the end of time":    set("nbf", int64(1)<<62-1),
		"issued in the future":          set("iat", noon.Add(time.Hour).Unix()),
		"other issuer":                  set("iss", "https://evil.example"),
		"issuer with a slash":           set("iss", oidcIssuer+"/"),
		"issuer in upper case":          set("iss", strings.ToUpper(oidcIssuer)),
		"issuers":                       set("iss", []string{oidcIssuer}),
		"no issuer":                     without("iss"),
		"other audience":                set("aud", "other"),
		"beginning of the audience":     set("aud", "ech"),
		"no audience":                   without("aud"),
		"empty audience":                set("aud", []string{}),
		"audience as object":            set("aud", map[string]bool{"echo": true}),
		"no subject":                    without("sub"),
		"empty subject":                 set("sub", ""),
		"subject null":                  set("sub", nil),
		"subject as number":             set("sub", 7),
		"subject with a tenant's mark":  set("sub", "alice\x1fother"),
		"subject with a line":           set("sub", "alice\nroot"),
		"subject that is no text":       raw(strings.Replace(text, "alice", "al\\ud800ice", 1)),
		"subject of a kilobyte":         set("sub", strings.Repeat("a", maxPrincipal+1)),
		"two subjects":                  raw(strings.Replace(text, `"sub":`, `"sub":"root","sub":`, 1)),
		"two issuers":                   raw(strings.Replace(text, `"iss":`, `"iss":"https://evil.example","iss":`, 1)),
		"subject in another case":       raw(strings.Replace(text, `"sub":`, `"Sub":`, 1)),
		"claims of an array":            raw("[" + text + "]"),
		"claims null":                   raw("null"),
		"no claims":                     raw(""),
		"data behind the claims":        raw(text + "{}"),
		"deep issuer":                   raw(strings.Replace(text, `"iss":`, `"iss":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`,"x":`, 1)),
	}
	if len(tests) < 60 {
		t.Errorf("%d tokens, want 60", len(tests))
	}
	called := false
	j := newJWT(keys, nil)
	gate := NewGate(&Policy{Authenticators: []Authenticator{j}}, func(w http.ResponseWriter, _ *http.Request, problem *a2a.Error) {
		if problem.Reason != a2a.ReasonUnauthenticated {
			t.Errorf("refused as %s: %s", problem.Reason, problem.Message)
		}
		http.Error(w, problem.Message, http.StatusUnauthorized)
	}).Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	for name, hostile := range tests {
		t.Run(name, func(t *testing.T) {
			called = false
			w := httptest.NewRecorder()
			gate.ServeHTTP(w, request("Bearer "+hostile))
			if w.Code != http.StatusUnauthorized || called {
				t.Fatalf("status %d, called: %v: %s", w.Code, called, w.Body)
			}
			if got := w.Header().Get("WWW-Authenticate"); got != bearerChallenge+`, error="invalid_token"` {
				t.Errorf("WWW-Authenticate = %q", got)
			}
		})
	}
	w := httptest.NewRecorder()
	if gate.ServeHTTP(w, request("Bearer "+token)); !called {
		t.Errorf("the valid token is refused as well: %s", w.Body)
	}
	t.Logf("%d tokens", len(tests))
}

// TestJWTFollowsTheKeysOfItsIssuer rotates a key, withdraws the former key, and then
// stops the issuer.
func TestJWTFollowsTheKeysOfItsIssuer(t *testing.T) {
	former, next := newSigner(t), newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		claims := jwtClaims(func(c map[string]any) {
			delete(c, "nbf")
			delete(c, "iat")
			c["exp"] = time.Now().Add(24 * time.Hour).Unix()
		})
		token := func(s *signer, id string) string {
			return "Bearer " + sign(t, jose.ES256, jose.JSONWebKey{Key: s.ecdsa, KeyID: id}, claims)
		}
		set := func(s *signer, id string) string {
			text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.ecdsa.Public(), KeyID: id}}})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		p := newProvider([]byte(set(former, "1")))
		keys := newIssuerKeys(p, KeySource{Issuer: oidcIssuer})
		j := newJWT(keys, func(c *JWTConfig) { c.Now = time.Now })
		admits := func(credential string, want bool) {
			t.Helper()
			synctest.Wait()
			if _, err := j.Authenticate(request(credential)); (err == nil) != want {
				t.Errorf("after %v: Authenticate() error = %v, want accepted: %v", time.Since(noonOfBubble), err, want)
			}
		}
		first, second := token(former, "1"), token(next, "2")
		admits(first, false) // no keys have been fetched yet
		inBackground(t, keys)
		admits(first, true)
		admits(second, false)
		p.set(func(p *provider) { p.answers[oidcKeys] = set(next, "2") })
		time.Sleep(keysPause)
		admits(second, true)
		admits(first, false)
		p.set(func(p *provider) { p.down = true })
		time.Sleep(maxKeysAge - time.Minute)
		admits(second, true)
		time.Sleep(2 * keysInterval)
		admits(second, false)
	})
}

// TestIssuerSignsWithAKeyThatItHasJustPublished rotates the key of an issuer: all calls of that moment are accepted, after one fetch. If a token
// with another key has caused a fetch less than ten seconds ago, calls are refused until the next fetch.
func TestIssuerSignsWithAKeyThatItHasJustPublished(t *testing.T) {
	signers := []*signer{newSigner(t), newSigner(t), newSigner(t)}
	synctest.Test(t, func(t *testing.T) {
		set := func(from, to int) string {
			published := jose.JSONWebKeySet{}
			for id := from; id <= to; id++ {
				published.Keys = append(published.Keys, jose.JSONWebKey{Key: signers[id].ecdsa.Public(), KeyID: strconv.Itoa(id)})
			}
			text, err := json.Marshal(published)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		p := newProvider([]byte(set(0, 0)))
		keys := newIssuerKeys(p, KeySource{Issuer: oidcIssuer, URL: oidcKeys})
		j := newJWT(keys, func(c *JWTConfig) { c.Now = time.Now })
		inBackground(t, keys)
		accepted := func(id, calls int) (count int) {
			claims := jwtClaims(func(c map[string]any) {
				delete(c, "nbf")
				delete(c, "iat")
				c["exp"] = time.Now().Add(time.Hour).Unix()
			})
			token := "Bearer " + sign(t, jose.ES256, jose.JSONWebKey{Key: signers[id].ecdsa, KeyID: strconv.Itoa(id)}, claims)
			var wg sync.WaitGroup
			results := make([]error, calls)
			for i := range calls {
				wg.Go(func() { _, results[i] = j.Authenticate(request(token)) })
			}
			wg.Wait()
			for _, err := range results {
				if err == nil {
					count++
				}
			}
			return count
		}
		fetches := func(want int) {
			t.Helper()
			if len(p.asked) != want {
				t.Errorf("%d fetches, want %d", len(p.asked), want)
			}
		}
		time.Sleep(time.Second)
		p.set(func(p *provider) { p.answers[oidcKeys] = set(0, 1) })
		if n := accepted(1, 100); n != 100 {
			t.Errorf("%d of 100 calls with the new key are accepted", n)
		}
		fetches(2)
		if n := accepted(0, 10); n != 10 {
			t.Errorf("%d of 10 calls with the old key are accepted", n)
		}
		time.Sleep(time.Second)
		p.set(func(p *provider) { p.answers[oidcKeys] = set(2, 2) })
		began := time.Now()
		for accepted(2, 10) == 0 {
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took > keysPause {
			t.Errorf("a second new key is refused for %s", took)
		}
		fetches(3)
		if n := accepted(1, 10); n != 0 {
			t.Errorf("%d of 10 calls with a withdrawn key are accepted", n)
		}
	})
}

// noonOfBubble is the start of the clock in a synctest bubble.
var noonOfBubble = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestGateOfTwoIssuers(t *testing.T) {
	cluster, k := newSigner(t), newKeyring(t)
	kubernetes := newKubernetes(t, cluster, func() time.Time { return noon })
	j := newJWT(known(t, k.set(t), noon), nil)
	mine := sign(t, jose.EdDSA, jose.JSONWebKey{Key: k.ed, KeyID: "ed"}, jwtClaims(nil))
	forged := sign(t, jose.EdDSA, jose.JSONWebKey{Key: k.ed, KeyID: "ed"}, jwtClaims(func(c map[string]any) { c["iss"] = issuer }))
	stranger := sign(t, jose.EdDSA, jose.JSONWebKey{Key: k.ed, KeyID: "ed"}, jwtClaims(func(c map[string]any) { c["iss"] = "https://x" }))
	for name, all := range map[string][]Authenticator{
		"one way": {kubernetes, j}, "the other": {j, kubernetes}, "with all others": {j, kubernetes, Anonymous{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Policy{Authenticators: all, Namespaces: []string{"team"}}
			for token, want := range map[string]a2a.Owner{
				cluster.token(t, nil): "system:serviceaccount:team:caller#1",
				mine:                  "jwt:" + oidcIssuer + "#alice",
				forged:                "", stranger: "", "x": "",
			} {
				got, err := p.Decide(request("Bearer " + token))
				if got.Owner != want || (err == nil) != (want != "") {
					t.Errorf("Decide() = %+v, %v, want %q", got, err, want)
				}
				if token == stranger && len(all) == 2 && !errors.Is(err, errOtherIssuer) {
					t.Errorf("Decide() error = %v, want %v", err, errOtherIssuer)
				}
			}
		})
	}
}

// FuzzJWT checks that no token without a valid signature is accepted.
func FuzzJWT(f *testing.F) {
	k := newKeyring(f)
	j := newJWT(known(f, k.set(f), noon), nil)
	stranger := newSigner(f)
	f.Add(sign(f, jose.RS256, jose.JSONWebKey{Key: stranger.rsa, KeyID: "rsa"}, jwtClaims(nil)))
	f.Add(encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{"iss":"`+oidcIssuer+`"}`)) + ".")
	f.Fuzz(func(t *testing.T, token string) {
		if got, err := j.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}); err == nil {
			t.Errorf("Authenticate(%q) = %+v", token, got)
		}
	})
}
