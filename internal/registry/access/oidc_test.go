// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

const testIssuer = "https://login.example"

// issuer is an OpenID Connect issuer with one signing key.
type issuer struct {
	mu   sync.Mutex
	key  *ecdsa.PrivateKey
	id   string
	down error
}

func (i *issuer) rotate(t *testing.T, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.id = key, id
}

func (i *issuer) setDown(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = err
}

// RoundTrip answers for the issuer.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down != nil {
		return nil, i.down
	}
	var document any = map[string]string{"issuer": testIssuer, "jwks_uri": testIssuer + "/keys"}
	if r.URL.Path == "/keys" {
		document = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.id, Algorithm: "ES256"}}}
	}
	body, err := json.Marshal(document)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{}}, err
}

// token returns a token for the audience of the registry. changes replaces or adds claims.
func (i *issuer) token(t *testing.T, changes map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	claims := map[string]any{
		"iss": testIssuer, "aud": "registry", "sub": "1234", "exp": time.Now().Add(time.Hour).Unix(),
		"email": "jane@example.com", "email_verified": true, "groups": []string{"dev", "system:masters", "dev"},
	}
	maps.Copy(claims, changes)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: i.id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// peopleFixture is an Authenticator that accepts the tokens of an issuer.
type peopleFixture struct {
	*issuer
	authenticator *Authenticator
	reviewed      int
}

func newPeopleFixture(t *testing.T, down error, change func(*OIDCOptions)) *peopleFixture {
	t.Helper()
	f := &peopleFixture{issuer: &issuer{down: down}}
	f.rotate(t, "first")
	options := OIDCOptions{
		Issuer: testIssuer, Audience: "registry", UsernameClaim: "email", UsernamePrefix: "oidc:", GroupsClaim: "groups", GroupsPrefix: "oidc:",
		Transport: f.issuer, Log: logr.Discard(), Now: time.Now,
	}
	if change != nil {
		change(&options)
	}
	f.authenticator = NewAuthenticator(AuthenticatorOptions{Clock: clock.RealClock{}, Review: func(context.Context, string, Sender) (Caller, bool, error) {
		f.reviewed++
		return Caller{}, false, nil
	}})
	people := NewOIDC(options)
	f.authenticator.AcceptPeople(people)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { people.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	synctest.Wait()
	return f
}

func (f *peopleFixture) caller(token string) (Caller, bool, error) {
	return f.authenticator.Caller(requestWith("Bearer " + token))
}

func TestTokenOfAPersonIdentifiesACaller(t *testing.T) {
	tests := map[string]struct {
		change func(*OIDCOptions)
		claims map[string]any
		want   *Caller
	}{
		"groups and prefixes": {want: &Caller{Username: "oidc:jane@example.com", Groups: []string{groupAuthenticated, "oidc:dev", "oidc:system:masters"}}},
		"names of Kubernetes without a prefix": {
			change: func(o *OIDCOptions) { o.UsernamePrefix, o.GroupsPrefix = "", "" },
			want:   &Caller{Username: "jane@example.com", Groups: []string{groupAuthenticated, "dev"}},
		},
		"a user name of Kubernetes": {
			change: func(o *OIDCOptions) { o.UsernameClaim, o.UsernamePrefix = "sub", "" },
			claims: map[string]any{"sub": "system:serviceaccount:team-a:bot"},
		},
		"one group as text":                 {claims: map[string]any{"groups": "ops"}, want: &Caller{Username: "oidc:jane@example.com", Groups: []string{groupAuthenticated, "oidc:ops"}}},
		"no claim of groups":                {change: func(o *OIDCOptions) { o.GroupsClaim = "" }, want: &Caller{Username: "oidc:jane@example.com", Groups: []string{groupAuthenticated}}},
		"an unverified address":             {claims: map[string]any{"email_verified": false}},
		"no user name":                      {claims: map[string]any{"email": nil}},
		"a user name of control characters": {claims: map[string]any{"email": "a\nb"}},
		"another audience":                  {claims: map[string]any{"aud": "another"}},
		"several audiences":                 {claims: map[string]any{"aud": []string{"another", "registry"}}, want: &Caller{Username: "oidc:jane@example.com", Groups: []string{groupAuthenticated, "oidc:dev", "oidc:system:masters"}}},
		"expired":                           {claims: map[string]any{"exp": 1}},
		"without an expiry":                 {claims: map[string]any{"exp": nil}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newPeopleFixture(t, nil, tt.change)
				token := f.token(t, tt.claims)
				for range 2 { // the second time from the cache
					got, valid, err := f.caller(token)
					if err != nil || valid != (tt.want != nil) || f.reviewed != 0 {
						t.Fatalf("Caller() = %+v, %t, %v after %d reviews", got, valid, err, f.reviewed)
					}
					if tt.want == nil {
						continue
					}
					if diff := cmp.Diff([]any{tt.want.Username, tt.want.Groups, ""}, []any{got.Username, got.Groups, got.Namespace()}); diff != "" {
						t.Errorf("caller (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// The Authenticator sends a TokenReview for a token of another issuer, and for a text that is not a
// JWT. It refuses a token that is too large, even of its issuer, without a review.
func TestOtherTokensAreReviewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPeopleFixture(t, nil, nil)
		for want, token := range []string{f.token(t, map[string]any{"iss": "https://kubernetes.default.svc"}), "opaque", "a.b.c"} {
			if _, valid, err := f.caller(token); valid || err != nil || f.reviewed != want+1 {
				t.Errorf("token %d: %t, %v after %d reviews", want, valid, err, f.reviewed)
			}
		}
		before := f.reviewed
		if _, valid, err := f.caller(f.token(t, map[string]any{"padding": strings.Repeat("x", maxToken)})); valid || err != nil || f.reviewed != before {
			t.Errorf("an oversized token: %t, %v after %d reviews", valid, err, f.reviewed-before)
		}
	})
}

func TestIssuerThatIsDownAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPeopleFixture(t, errors.New("connection refused"), nil)
		token := f.token(t, nil)
		if _, valid, err := f.caller(token); valid || !errors.Is(err, ErrNoIssuerKeys) {
			t.Errorf("while the issuer is down: %t, %v", valid, err)
		}
		f.setDown(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, valid, err := f.caller(token); !valid || err != nil {
			t.Errorf("after its recovery: %t, %v", valid, err)
		}
		f.setDown(errors.New("connection refused"))
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		if _, valid, err := f.caller(token); !valid || err != nil {
			t.Errorf("50 minutes into an outage: %t, %v", valid, err)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if _, valid, err := f.caller(token); valid || !errors.Is(err, ErrNoIssuerKeys) {
			t.Errorf("70 minutes into an outage: %t, %v", valid, err)
		}
	})
}

func TestKeysOfTheIssuerRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPeopleFixture(t, nil, nil)
		old := f.token(t, nil)
		if _, valid, err := f.caller(old); !valid || err != nil {
			t.Fatalf("before the rotation: %t, %v", valid, err)
		}
		f.rotate(t, "second")
		renewed := f.token(t, nil)
		if _, valid, err := f.caller(renewed); !valid || err != nil {
			t.Errorf("the first token of the new key: %t, %v", valid, err)
		}
		if _, valid, err := f.caller(old); valid || err != nil {
			t.Errorf("a token of the withdrawn key: %t, %v", valid, err)
		}
		f.rotate(t, "third")
		again := f.token(t, nil)
		if _, valid, err := f.caller(again); valid || err != nil {
			t.Errorf("a second new key within a minute: %t, %v", valid, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, valid, err := f.caller(again); !valid || err != nil {
			t.Errorf("after the minute: %t, %v", valid, err)
		}
	})
}

// Verifying a signature costs CPU time, so an address may not cause many verifications.
func TestTokensOfTheIssuerAreLimitedByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPeopleFixture(t, nil, nil)
		good := f.token(t, nil)
		if _, valid, err := f.caller(good); !valid || err != nil {
			t.Fatalf("Caller() = %t, %v", valid, err)
		}
		limited := 0
		for range 1_000 {
			_, _, err := f.caller(good[:len(good)-4] + "AAAA")
			if _, ok := errors.AsType[LimitedError](err); ok {
				limited++
			}
		}
		if want := 1_000 - wrongTokens.Burst - 250; limited != want {
			t.Errorf("%d of 1,000 invalid tokens were limited, want %d", limited, want)
		}
		if _, valid, err := f.caller(good); !valid || err != nil {
			t.Errorf("a verified token of the same address: %t, %v", valid, err)
		}
	})
}
