// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Unknown tokens of one address cause a bounded rate of reviews, and do not affect
// known callers or other addresses.
func TestUnknownTokensAreLimitedByAddress(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	asked := 0
	a := NewAuthenticator(func(_ context.Context, token string) (Caller, bool, error) {
		asked++
		return Caller{Username: "u"}, token == "good", nil
	}, now)
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

// Requests that share a review count once for their address.
func TestConcurrentRequestsWithOneTokenAreOneUnknownToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		a := NewAuthenticator(func(context.Context, string) (Caller, bool, error) {
			<-block
			return Caller{Username: "u"}, true, nil
		}, testclock.NewFakePassiveClock(time.Unix(0, 0)))
		var group sync.WaitGroup
		var accepted atomic.Int32
		for range 2 * reviewRate.Burst {
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
		if got, want := int(accepted.Load()), 2*reviewRate.Burst; got != want {
			t.Errorf("%d requests were accepted, want %d", got, want)
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
		for range concurrentReviews + waitingReviews + 10 {
			group.Go(func() {
				if _, _, err := r.Token(context.Background(), "t"); errors.Is(err, ErrTooManyReviews) {
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
