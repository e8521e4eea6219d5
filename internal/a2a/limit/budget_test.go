// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

const kib = 1 << 10

func grow(t *testing.T, b *limit.Budget, key string, bytes int64) (*limit.Share, bool) {
	t.Helper()
	s := &limit.Share{}
	return s, b.Grow(t.Context(), s, owner(key), bytes)
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, time.Second)
		// Three quarters are for the large, and half of these for one key.
		first, ok := grow(t, b, "a", 300*kib)
		if _, second := grow(t, b, "a", 100*kib); !ok || second {
			t.Error("one key holds more than its half")
		}
		if _, ok := grow(t, b, "b", 384*kib); !ok {
			t.Error("another key has no room")
		}
		if _, ok := grow(t, b, "c", 100*kib); ok {
			t.Error("the large hold what is kept for the small")
		}
		small := 0
		for ; ; small++ {
			if _, ok := grow(t, b, "c", limit.Small); !ok {
				break
			}
		}
		if small < 4 {
			t.Errorf("room for %d small requests, want a quarter of all", small)
		}
		if got := b.Used(); got > 1024*kib {
			t.Errorf("Used() = %d", got)
		}
		first.Release()
		first.Release()
		if _, ok := grow(t, b, "c", 100*kib); !ok {
			t.Error("what was given back cannot be taken again")
		}
	})
}

func TestBudgetGrowsWithItsRequest(t *testing.T) {
	b := limit.NewBudget(1024*kib, 0)
	var s limit.Share
	for _, to := range []int64{1, 60 * kib, 65 * kib, 200 * kib, 768 * kib} {
		if !b.Grow(t.Context(), &s, owner("a"), to) || b.Used() != to {
			t.Fatalf("Grow() to %d holds %d", to, b.Used())
		}
	}
	if b.Grow(t.Context(), &s, owner("a"), 769*kib) || b.Used() != 768*kib {
		t.Errorf("Grow() beyond all that is for the large holds %d", b.Used())
	}
	s.Release()
	if b.Used() != 0 {
		t.Errorf("Release() leaves %d", b.Used())
	}
}

func TestBudgetIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(128*kib, time.Second)
		held, _ := grow(t, b, "a", 64*kib)
		_, _ = grow(t, b, "b", 64*kib)
		got := make(chan bool)
		go func() {
			_, ok := grow(t, b, "c", 10*kib)
			got <- ok
		}()
		time.Sleep(time.Second / 2)
		held.Release()
		if !<-got {
			t.Error("room that came in time was not taken")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		from := time.Now()
		if b.Grow(ctx, &limit.Share{}, owner("c"), 64*kib) || time.Since(from) > 0 {
			t.Error("a client that left was waited for")
		}
		if _, ok := grow(t, b, "c", 64*kib); ok || time.Since(from) != time.Second {
			t.Errorf("Grow() without room = %t after %s", ok, time.Since(from))
		}
	})
}

// TestNobodyTakesAllThatWait: one key that waits as often as it can leaves places
// in which others wait, and get what is given back.
func TestNobodyTakesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, time.Minute)
		held, _ := grow(t, b, "a", 700*kib)
		ctx, cancel := context.WithCancel(t.Context())
		var greedy sync.WaitGroup
		for range 200 {
			greedy.Go(func() { b.Grow(ctx, &limit.Share{}, owner("a"), 100*kib) })
		}
		synctest.Wait()
		got := make(chan bool)
		for _, key := range []string{"b", "c"} {
			go func() {
				_, ok := grow(t, b, key, 100*kib)
				got <- ok
			}()
		}
		synctest.Wait()
		cancel()
		greedy.Wait()
		held.Release()
		for range 2 {
			if !<-got {
				t.Error("no place is left in which others could wait")
			}
		}
		// Those that went left their places.
		held, _ = grow(t, b, "d", 500*kib)
		go func() {
			_, ok := grow(t, b, "a", 100*kib)
			got <- ok
		}()
		synctest.Wait()
		held.Release()
		if !<-got {
			t.Error("places that were left are still counted")
		}
	})
}

// TestBudgetOfManySmall: one key that holds as many small ones as it can is in
// nobody's way, be they small or large.
func TestBudgetOfManySmall(t *testing.T) {
	for name, large := range map[string]int64{"alone": 0, "beside large ones": 6100 * kib} {
		t.Run(name, func(t *testing.T) {
			b := limit.NewBudget(8192*kib, 0)
			big := &limit.Share{}
			if large > 0 && !b.Grow(t.Context(), big, owner("b"), large) {
				t.Fatal("no room for a large one")
			}
			var greedy []*limit.Share
			for range 8192 {
				s := &limit.Share{}
				if !b.Grow(t.Context(), s, owner("a"), kib) {
					continue
				}
				greedy = append(greedy, s)
				// Some are longer than they seemed.
				if len(greedy)%3 == 0 {
					b.Grow(t.Context(), s, owner("a"), 3*kib)
				}
			}
			if len(greedy) < 512 {
				t.Errorf("room for %d small ones of a key", len(greedy))
			}
			if _, ok := grow(t, b, "c", limit.Small); !ok {
				t.Errorf("%d of one key leave no room for another", b.Used()-large)
			}
			if got := b.Used() - large; got > (1024+2048+64)*kib {
				t.Errorf("one key holds %d", got)
			}
			for _, s := range greedy {
				s.Release()
			}
			big.Release()
			if got := b.Used(); got != limit.Small {
				t.Errorf("Used() = %d when all but one were given back", got)
			}
			for range 8 {
				if _, ok := grow(t, b, "a", limit.Small/2); !ok {
					t.Error("what was given back is still counted")
				}
			}
		})
	}
}
