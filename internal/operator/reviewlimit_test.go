// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// metricsServerInTest has a reviewLimit in front of an authenticator that accepts some tokens.
type metricsServerInTest struct {
	limit   *reviewLimit
	handler http.Handler
	good    sync.Map

	mu      sync.Mutex
	reviews int
}

func newMetricsServerInTest(signatures *access.Signatures) *metricsServerInTest {
	s := &metricsServerInTest{limit: newReviewLimit(signatures)}
	scrapes := s.limit.accept(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.handler = s.limit.limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.reviews++
		s.mu.Unlock()
		if _, ok := s.good.Load(r.Header.Get("Authorization")); !ok {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization") // as the authenticator does
		scrapes.ServeHTTP(w, r)
	}))
	return s
}

func (s *metricsServerInTest) scrape(from, token string) int {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", http.NoBody)
	r.RemoteAddr = from + ":1"
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Code
}

func (s *metricsServerInTest) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	reviews := s.reviews
	s.reviews = 0
	return reviews
}

// TestStrangersDoNotFloodTheAPIServerWithReviews sends unknown tokens from several addresses, while a scraper
// whose token was accepted continues, and others have new tokens.
func TestStrangersDoNotFloodTheAPIServerWithReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "a"}}})
		if err != nil {
			t.Fatal(err)
		}
		const issuer = "https://issuer.example"
		s := newMetricsServerInTest(access.NewSignatures(func() ([]string, json.RawMessage) { return []string{issuer}, keys }))
		signed := func(subject string) string {
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "a"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			token, err := jwt.Signed(signer).Claims(map[string]any{"iss": issuer, "sub": subject}).Serialize()
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		accepted, rotated := signed("system:serviceaccount:monitoring:old"), signed("system:serviceaccount:monitoring:new")
		for _, token := range []string{accepted, rotated, "opaque"} {
			s.good.Store("Bearer "+token, true)
		}
		if got := s.scrape("10.0.0.1", accepted); got != http.StatusOK {
			t.Fatalf("status = %d", got)
		}
		s.taken()

		forged := rotated[:len(rotated)-4] + "AAAA"
		for range 1_000 {
			if got := s.scrape("10.0.0.1", forged); got != http.StatusUnauthorized {
				t.Fatalf("forged token: %d", got)
			}
		}
		if reviews := s.taken(); reviews != 0 {
			t.Errorf("%d reviews of a forged token, want 0", reviews)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		refused := 0
		for i := range 400 { // from one address, and from 100 others
			address := "10.0.0.1"
			if i%4 == 0 {
				address = "10.0.1." + strconv.Itoa(i/4)
			}
			group.Go(func() {
				for number := 0; ctx.Err() == nil; number++ {
					if s.scrape(address, strconv.Itoa(i)+"-"+strconv.Itoa(number)) == http.StatusTooManyRequests {
						s.mu.Lock()
						refused++
						s.mu.Unlock()
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		time.Sleep(time.Second)
		s.taken()
		const period = 10 * time.Second
		time.Sleep(period)
		if reviews, most := s.taken(), (int(period/unknownReviewPace)+1)*reviewSlots; reviews > most {
			t.Errorf("%d reviews of unknown tokens in %v, want at most %d", reviews, period, most)
		}
		began := time.Now()
		for range 100 {
			if got := s.scrape("10.0.0.1", accepted); got != http.StatusOK {
				t.Fatalf("the accepted token: %d", got)
			}
		}
		if got := s.scrape("10.0.0.1", rotated); got != http.StatusOK {
			t.Errorf("a new token from the address of the strangers: %d", got)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("signed tokens waited for %v", waited)
		}
		if got := s.scrape("10.0.0.2", "opaque"); got != http.StatusOK {
			t.Errorf("a new token that the API server has not signed, from another address: %d", got)
		}
		if waited := time.Since(began); waited > reviewTimeout {
			t.Errorf("a token that the API server has not signed waited for %v", waited)
		}
		cancel()
		group.Wait()
		if refused == 0 {
			t.Error("no stranger was refused")
		}
		time.Sleep(time.Second) // the slots of the last reviews
	})
}

func TestAcceptedTokensAreBounded(t *testing.T) {
	l := newReviewLimit(nil)
	for i := range 2 * maxAccepted {
		l.remember(strconv.Itoa(i))
	}
	if len(l.accepted) > maxAccepted {
		t.Errorf("%d tokens are remembered", len(l.accepted))
	}
}
