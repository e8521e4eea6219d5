// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testSigner signs tokens of a cluster.
type testSigner struct {
	key  *ecdsa.PrivateKey
	url  string
	keys json.RawMessage
}

func newTestSigner(t *testing.T) *testSigner {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "a", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	return &testSigner{key, "https://issuer.example", keys}
}

func (i *testSigner) current() (urls []string, keys json.RawMessage) { return []string{i.url}, i.keys }

// token returns a token with a key id that key has signed.
func (i *testSigner) token(t *testing.T, key *ecdsa.PrivateKey, id, nonce string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any{"iss": i.url, "sub": "system:serviceaccount:team:bot", "jti": nonce}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A flood of forged tokens neither reaches the API server nor stops new valid tokens of the same address.
func TestForgedTokensLockNobodyOut(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	issuer := newTestSigner(t)
	forger := newTestSigner(t)
	asked := 0
	a := NewAuthenticator(AuthenticatorOptions{
		Clock: now, Signatures: NewSignatures(issuer.current),
		Review: func(_ context.Context, _ string, from Sender) (Caller, bool, error) {
			asked++
			if from.IsUnknown || from.Tenant != "system:serviceaccount:team" {
				t.Errorf("sender = %+v", from)
			}
			return Caller{Username: "u"}, true, nil
		},
	})
	call := func(token string) (bool, error) {
		r := requestWith("Bearer " + token)
		r.RemoteAddr = "192.0.2.1:1"
		_, valid, err := a.Caller(r)
		return valid, err
	}
	valid := 0
	for i := range 2_000 { // 200 forged tokens and 20 valid ones in a second
		now.SetTime(now.Now().Add(5 * time.Millisecond))
		if ok, err := call(issuer.token(t, forger.key, "a", strconv.Itoa(i))); ok || err != nil {
			t.Fatalf("forged token %d: %t, %v", i, ok, err)
		}
		if i%10 != 0 {
			continue
		}
		valid++
		if ok, err := call(issuer.token(t, issuer.key, "a", strconv.Itoa(i))); !ok || err != nil {
			t.Fatalf("valid token %d: %t, %v", i, ok, err)
		}
	}
	if asked != valid {
		t.Errorf("%d reviews, want %d: one for each valid token", asked, valid)
	}
}

// Beyond wrongTokens, the tokens of an address are verified at a limited rate. Callers that are known, and
// other addresses, have no limit.
func TestVerificationsOfAnAddressAreLimited(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	asked := 0
	a := NewAuthenticator(AuthenticatorOptions{Clock: now, Review: func(_ context.Context, token string, _ Sender) (Caller, bool, error) {
		asked++
		return Caller{Username: "u"}, token == "good", nil
	}})
	call := func(token, address string) (bool, error) {
		r := requestWith("Bearer " + token)
		r.RemoteAddr = address
		_, valid, err := a.Caller(r)
		return valid, err
	}
	if valid, err := call("good", "192.0.2.1:1"); !valid || err != nil {
		t.Fatalf("caller() = %t, %v", valid, err)
	}
	refused := 0
	for i := range 1_000 {
		_, err := call(strconv.Itoa(i), "192.0.2.1:"+strconv.Itoa(1000+i))
		if _, ok := errors.AsType[LimitedError](err); ok {
			refused++
		}
	}
	if want := 1 + wrongTokens.Burst + 250; asked != want || refused != 1_001-want {
		t.Errorf("%d tokens were verified and %d refused, want %d of 1,001", asked, refused, want)
	}
	for range 2 { // the second time needs a review
		if valid, err := call("good", "192.0.2.1:9"); !valid || err != nil {
			t.Errorf("a token that is known, from the same address: %t, %v", valid, err)
		}
		if _, err := call("wrong", "192.0.2.1:9"); err == nil {
			t.Error("a wrong token is verified")
		}
		a.accepted.Put("", digestOf("good"), acceptedToken{reviewed: now.Now().Add(-acceptedLifetime)}, 1)
	}
	if _, err := call("new", "192.0.2.2:1"); err != nil {
		t.Errorf("a token of another address: %v", err)
	}
	now.SetTime(time.Unix(1, 0))
	if _, err := call("later", "192.0.2.1:9"); err != nil {
		t.Errorf("a token a second later: %v", err)
	}
}

// A token that only the API server knows tells the issuer, and a token of a person or one that is refused does not.
func TestAcceptedTokensTellTheirIssuer(t *testing.T) {
	issuer := newTestSigner(t)
	other := newTestSigner(t)
	other.url = "https://other.example"
	signatures := NewSignatures(issuer.current)
	var told []string
	signatures.Accepted = func(issuer string, isKnown bool) { told = append(told, fmt.Sprint(issuer, " ", isKnown)) }
	user := ""
	a := NewAuthenticator(AuthenticatorOptions{
		Clock: testclock.NewFakePassiveClock(time.Unix(0, 0)), Signatures: signatures,
		Review: func(context.Context, string, Sender) (Caller, bool, error) {
			return Caller{Username: user}, user != "", nil
		},
	})
	call := func(as, token string) {
		user = as
		if _, valid, err := a.Caller(requestWith("Bearer " + token)); valid != (as != "") || err != nil {
			t.Errorf("Caller() = %t, %v, want %t", valid, err, as != "")
		}
	}
	const account = "system:serviceaccount:team:caller"
	call("", other.token(t, other.key, "a", "1"))
	call("jane", other.token(t, other.key, "a", "2"))
	call(account, "opaque")
	token := other.token(t, other.key, "a", "3")
	call(account, token)
	call(account, token)
	call(account, issuer.token(t, issuer.key, "a", "4"))
	want := []string{other.url + " false", issuer.url + " true"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("reported issuers (-want +got):\n%s", diff)
	}
}

// Only a key that is known makes a token forged. All other tokens need a review.
func TestSenders(t *testing.T) {
	issuer := newTestSigner(t)
	forger := newTestSigner(t)
	forger.url = "https://other.example"
	s := NewSignatures(issuer.current)
	const address = "192.0.2.1"
	unknown := Sender{Tenant: address, IsUnknown: true}
	for name, tt := range map[string]struct {
		token     string
		want      Sender
		plausible bool
	}{
		"signed":          {issuer.token(t, issuer.key, "a", ""), Sender{Tenant: "system:serviceaccount:team"}, true},
		"forged":          {issuer.token(t, forger.key, "a", ""), unknown, false},
		"another key":     {issuer.token(t, forger.key, "b", ""), unknown, true},
		"no key id":       {issuer.token(t, forger.key, "", ""), unknown, true},
		"another issuer":  {forger.token(t, forger.key, "a", ""), unknown, true},
		"no signed token": {"opaque", unknown, true},
	} {
		if got, plausible := s.Sender(tt.token, address); got != tt.want || plausible != tt.plausible {
			t.Errorf("%s: Sender() = %+v, %t; want %+v, %t", name, got, plausible, tt.want, tt.plausible)
		}
	}
	forged := issuer.token(t, forger.key, "a", "")
	var none *Signatures
	for _, s := range []*Signatures{none, NewSignatures(func() ([]string, json.RawMessage) { return nil, nil }), NewSignatures(func() ([]string, json.RawMessage) {
		return []string{issuer.url}, []byte(`{"keys":[]}`)
	})} {
		if got, plausible := s.Sender(forged, address); !plausible || got != (Sender{Tenant: address}) {
			t.Errorf("without keys: Sender() = %+v, %t", got, plausible)
		}
	}
	issuer.keys = forger.keys
	if got, plausible := s.Sender(forged, address); !plausible || got.IsUnknown {
		t.Errorf("after a change of the keys: Sender() = %+v, %t", got, plausible)
	}
}

// Tokens that nothing but a review can refuse cause a bounded rate of reviews, and do not delay signed tokens.
func TestUnknownTokensDoNotDelaySignedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		r := newTestReviewer(&apiServer{answer: func(client.Object) error {
			asked.Add(1)
			return nil
		}})
		var group sync.WaitGroup
		for range waitingReviews {
			group.Go(func() {
				_, _, _ = r.Token(context.Background(), "t", Sender{Tenant: "192.0.2.1", IsUnknown: true}) // many are refused
			})
		}
		synctest.Wait()
		if got := asked.Load(); got != tenantReviews {
			t.Errorf("%d reviews of unknown tokens at once, want %d", got, tenantReviews)
		}
		began := time.Now()
		if _, _, err := r.Token(t.Context(), "t", Sender{Tenant: "system:serviceaccount:team"}); err != nil {
			t.Error(err)
		}
		if _, _, err := r.Token(t.Context(), "t", Sender{Tenant: "192.0.2.2", IsUnknown: true}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("a signed token and a token of another address waited for %v", waited)
		}
		asked.Store(0)
		time.Sleep(time.Second)
		if got, most := asked.Load(), int32(time.Second/unknownPace)*concurrentReviews; got > most {
			t.Errorf("%d reviews of unknown tokens in a second, want at most %d", got, most)
		}
		group.Wait()
	})
}

// Requests with the same token share a review.
func TestConcurrentRequestsWithOneTokenAreOneReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		asked := 0
		a := NewAuthenticator(AuthenticatorOptions{Clock: testclock.NewFakePassiveClock(time.Unix(0, 0)), Review: func(context.Context, string, Sender) (Caller, bool, error) {
			asked++
			<-block
			return Caller{Username: "u"}, true, nil
		}})
		var group sync.WaitGroup
		var accepted atomic.Int32
		for range 200 {
			group.Go(func() {
				r := requestWith("Bearer good")
				r.RemoteAddr = "192.0.2.1:1"
				if _, valid, err := a.Caller(r); valid && err == nil {
					accepted.Add(1)
				}
			})
		}
		synctest.Wait()
		close(block)
		group.Wait()
		if accepted.Load() != 200 || asked != 1 {
			t.Errorf("%d requests were accepted after %d reviews, want 200 after 1", accepted.Load(), asked)
		}
	})
}

// The queue of reviews is bounded, and reviews of tokens do not block reviews of access.
func TestWaitingReviewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		r := newTestReviewer(&apiServer{answer: func(client.Object) error { <-block; return nil }})
		var group sync.WaitGroup
		var refused atomic.Int32
		for i := range concurrentReviews + waitingReviews + 10 {
			group.Go(func() {
				if _, _, err := r.Token(context.Background(), "t", Sender{Tenant: strconv.Itoa(i)}); errors.Is(err, ErrTooManyReviews) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if refused.Load() != 10 {
			t.Errorf("%d questions were refused, want 10", refused.Load())
		}
		asked := make(chan error, 1)
		go func() {
			_, err := r.Allows(context.Background(), Caller{}, Right{Namespace: "team"})
			asked <- err
		}()
		close(block)
		group.Wait()
		if err := <-asked; err != nil {
			t.Errorf("list() error = %v", err)
		}
	})
}
