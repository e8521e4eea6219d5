// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestStrangersDoNotFloodTheAPIServerWithReviews sends unknown tokens from several addresses, while a scraper whose token
// was accepted continues, and another one has a new token.
func TestStrangersDoNotFloodTheAPIServerWithReviews(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := newReviewLimit(now)
	reviews := 0
	accepted := l.accept(http.NotFoundHandler())
	handler := l.limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reviews++
		if r.Header.Get("Authorization") == "Bearer good" {
			r.Header.Del("Authorization") // as the authenticator does
			accepted.ServeHTTP(w, r)
		}
	}))
	send := func(from, authorization string) int {
		r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
		r.RemoteAddr = from + ":1"
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	if got := send("10.0.0.1", "Bearer good"); got != http.StatusNotFound {
		t.Fatalf("status = %d", got)
	}
	reviews = 0
	for i := range 1_000 {
		send("10.0.0.2", "Bearer "+strconv.Itoa(i))
	}
	if reviews != reviewBurstBySource {
		t.Errorf("%d reviews of one address, want %d", reviews, reviewBurstBySource)
	}
	if got := send("10.0.0.3", "Bearer new"); got != http.StatusOK {
		t.Errorf("another address: %d", got)
	}
	for i := range 1_000 {
		send("10.0.1."+strconv.Itoa(i%250), "Bearer "+strconv.Itoa(i))
	}
	if reviews > reviewBurstInAll {
		t.Errorf("%d reviews of all addresses, want at most %d", reviews, reviewBurstInAll)
	}
	if got := send("10.0.0.4", "Bearer newest"); got != http.StatusTooManyRequests {
		t.Errorf("status = %d, want 429", got)
	}
	for range 100 {
		if got := send("10.0.0.1", "Bearer good"); got != http.StatusNotFound {
			t.Fatalf("the accepted token: %d", got)
		}
	}
	now.SetTime(now.Now().Add(time.Minute))
	if got := send("10.0.0.4", "Bearer newest"); got != http.StatusOK {
		t.Errorf("after a minute: %d", got)
	}
	for i := range 2 * maxReviewSources {
		send("10.1."+strconv.Itoa(i/256)+"."+strconv.Itoa(i%256), "Bearer x")
		l.remember(strconv.Itoa(i))
	}
	if len(l.sources) > maxReviewSources || len(l.accepted) > maxAccepted {
		t.Errorf("%d sources and %d tokens are remembered", len(l.sources), len(l.accepted))
	}
}
