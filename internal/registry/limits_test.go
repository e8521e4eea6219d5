// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestStrangeTokens of one address do not reach the API server without end, and
// keep nobody out who is known, or is elsewhere.
func TestStrangeTokens(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	asked := 0
	a := newAuthenticator(func(_ context.Context, token string) (Caller, bool, error) {
		asked++
		return Caller{Username: "u"}, token == "good", nil
	}, now)
	call := func(token, address string) (bool, error) {
		r := requestWith("Bearer " + token)
		r.RemoteAddr = address
		_, valid, err := a.caller(r)
		return valid, err
	}
	if valid, err := call("good", "192.0.2.1:1"); !valid || err != nil {
		t.Fatalf("caller() = %t, %v", valid, err)
	}
	refused := 0
	for i := range 1_000 {
		_, err := call(strconv.Itoa(i), "192.0.2.1:"+strconv.Itoa(1000+i))
		if _, ok := errors.AsType[limitedError](err); ok {
			refused++
		}
	}
	if asked != reviewRate.Burst || refused != 1_001-reviewRate.Burst {
		t.Errorf("%d tokens were reviewed and %d refused, want %d of 1,001", asked, refused, reviewRate.Burst)
	}
	if valid, err := call("good", "192.0.2.1:9"); !valid || err != nil {
		t.Errorf("a token that is known, from the same address: %t, %v", valid, err)
	}
	if _, err := call("new", "192.0.2.2:1"); err != nil {
		t.Errorf("a token of another address: %v", err)
	}
	now.SetTime(time.Unix(1, 0))
	if _, err := call("later", "192.0.2.1:9"); err != nil {
		t.Errorf("a token a second later: %v", err)
	}
}

func TestTooManyTokensIsAnAnswer(t *testing.T) {
	w := newWorld(t, fleet(t))
	for i := range reviewRate.Burst {
		bodyOf(t, w.get(t, strconv.Itoa(i), "/v1/agents"))
	}
	answer := w.get(t, "more", "/v1/agents")
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") != "1" {
		t.Errorf("answer = %d %v", answer.StatusCode, answer.Header)
	}
}

// TestQuestionsThatWaitAreBounded, and those about tokens keep none about access
// from being asked.
func TestQuestionsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		r := newReviewer(&apiServer{answer: func(client.Object) error { <-block; return nil }})
		var group sync.WaitGroup
		var refused atomic.Int32
		for range concurrentReviews + waitingReviews + 10 {
			group.Go(func() {
				if _, _, err := r.token(context.Background(), "t"); errors.Is(err, errTooManyReviews) {
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
			_, err := r.list(context.Background(), Caller{}, "team")
			asked <- err
		}()
		close(block)
		group.Wait()
		if err := <-asked; err != nil {
			t.Errorf("list() error = %v", err)
		}
	})
}
