// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

const kib = 1 << 10

func grow(t *testing.T, b *limit.Budget, key string, bytes int64) (*limit.Reservation, bool) {
	t.Helper()
	s := &limit.Reservation{}
	return s, b.Grow(t.Context(), s, owner(key), bytes)
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, time.Second)
		// Large reservations may hold three quarters of the budget, and one principal
		// half of that.
		first, ok := grow(t, b, "a", 300*kib)
		if _, second := grow(t, b, "a", 100*kib); !ok || second {
			t.Error("one principal holds more than half of what large reservations may hold")
		}
		if _, ok := grow(t, b, "b", 384*kib); !ok {
			t.Error("another principal has no room")
		}
		if _, ok := grow(t, b, "c", 100*kib); ok {
			t.Error("large reservations hold the part that is reserved for small ones")
		}
		small := 0
		for ; ; small++ {
			if _, ok := grow(t, b, "c", limit.Small); !ok {
				break
			}
		}
		if small < 4 {
			t.Errorf("room for %d small requests, want a quarter of the budget", small)
		}
		if got := b.Used(); got > 1024*kib {
			t.Errorf("Used() = %d", got)
		}
		first.Release()
		first.Release()
		if _, ok := grow(t, b, "c", 100*kib); !ok {
			t.Error("released bytes are not available again")
		}
	})
}

// A principal that holds the largest reservation leaves room for other ones with larger reservations than small ones, and for small ones.
func TestLargestReservationLeavesRoomForOthers(t *testing.T) {
	const limits = 16 << 20
	b := limit.NewBudget(limits, 0)
	held, _ := grow(t, b, "a", b.Largest())
	for _, step := range []struct {
		principal string
		bytes     int64
		want      bool
	}{
		{"a", limits / 16, false},
		{"b", limits/16 + 1, false},
		{"b", limits / 16, true},
		{"b", limits / 32, false},
		{"c", limits / 16, true},
		{"d", limits / 16, false},
	} {
		if _, got := grow(t, b, step.principal, step.bytes); got != step.want {
			t.Errorf("%s with %d bytes: %t", step.principal, step.bytes, got)
		}
	}
	for i := range limits / 8 / limit.Small {
		if _, ok := grow(t, b, strconv.Itoa(i), limit.Small); !ok {
			t.Fatalf("room for %d small reservations, want an eighth of the budget", i)
		}
	}
	held.Release()
	if _, ok := grow(t, b, "d", limits/2); !ok {
		t.Error("released bytes are not available again")
	}
}

func TestReservationGrows(t *testing.T) {
	b := limit.NewBudget(1024*kib, 0)
	var s limit.Reservation
	for _, to := range []int64{1, 60 * kib, 65 * kib, 200 * kib, 768 * kib} {
		if !b.Grow(t.Context(), &s, owner("a"), to) || b.Used() != to {
			t.Fatalf("Grow() to %d holds %d", to, b.Used())
		}
	}
	if b.Grow(t.Context(), &s, owner("a"), 769*kib) || b.Used() != 768*kib {
		t.Errorf("Grow() beyond the largest reservation holds %d", b.Used())
	}
	s.Release()
	if b.Used() != 0 {
		t.Errorf("Release() leaves %d", b.Used())
	}
}

func TestGrowWaitsForARelease(t *testing.T) {
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
			t.Error("Grow() missed a release before its time-out")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		from := time.Now()
		if b.Grow(ctx, &limit.Reservation{}, owner("c"), 64*kib) || time.Since(from) > 0 {
			t.Error("Grow() waited for a client that had disconnected")
		}
		if _, ok := grow(t, b, "c", 64*kib); ok || time.Since(from) != time.Second {
			t.Errorf("Grow() without room = %t after %s", ok, time.Since(from))
		}
	})
}

// TestWaitersOfOnePrincipalDoNotBlockOthers: a principal with as many waiting
// requests as allowed leaves places for others, which get the released bytes.
func TestWaitersOfOnePrincipalDoNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBudget(1024*kib, time.Minute)
		held, _ := grow(t, b, "a", 700*kib)
		ctx, cancel := context.WithCancel(t.Context())
		var greedy sync.WaitGroup
		for range 200 {
			greedy.Go(func() { b.Grow(ctx, &limit.Reservation{}, owner("a"), 100*kib) })
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
				t.Error("no place is left for waiting requests of others")
			}
		}
		// Disconnected requests have freed their places.
		held, _ = grow(t, b, "d", 500*kib)
		go func() {
			_, ok := grow(t, b, "a", 100*kib)
			got <- ok
		}()
		synctest.Wait()
		held.Release()
		if !<-got {
			t.Error("places of disconnected requests are still counted")
		}
	})
}

// The ServiceAccounts of one namespace hold no more than one principal.
func TestServiceAccountsOfANamespaceShareABudget(t *testing.T) {
	b := limit.NewBudget(1024*kib, 0)
	for _, size := range []int64{100 * kib, limit.Small} {
		for i := range 20 {
			grow(t, b, "system:serviceaccount:team:a"+strconv.Itoa(i), size)
		}
		if _, ok := grow(t, b, "system:serviceaccount:other:a", size); !ok {
			t.Errorf("the ServiceAccounts of another namespace hold all memory for %d bytes", size)
		}
	}
}

// TestManySmallReservationsDoNotBlockOthers: a principal with as many small
// reservations as allowed leaves room for small and large ones of others.
func TestManySmallReservationsDoNotBlockOthers(t *testing.T) {
	for name, large := range map[string]int64{"alone": 0, "beside a large one": 6100 * kib} {
		t.Run(name, func(t *testing.T) {
			b := limit.NewBudget(8192*kib, 0)
			big := &limit.Reservation{}
			if large > 0 && !b.Grow(t.Context(), big, owner("b"), large) {
				t.Fatal("no room for a large reservation")
			}
			var greedy []*limit.Reservation
			for range 8192 {
				s := &limit.Reservation{}
				if !b.Grow(t.Context(), s, owner("a"), kib) {
					continue
				}
				greedy = append(greedy, s)
				// Some reservations grow later.
				if len(greedy)%3 == 0 {
					b.Grow(t.Context(), s, owner("a"), 3*kib)
				}
			}
			if len(greedy) < 512 {
				t.Errorf("room for %d small reservations of one principal", len(greedy))
			}
			if _, ok := grow(t, b, "c", limit.Small); !ok {
				t.Errorf("%d bytes of one principal leave no room for another", b.Used()-large)
			}
			if got := b.Used() - large; got > (1024+2048+64)*kib {
				t.Errorf("one principal holds %d", got)
			}
			for _, s := range greedy {
				s.Release()
			}
			big.Release()
			if got := b.Used(); got != limit.Small {
				t.Errorf("Used() = %d when all but one reservation was released", got)
			}
			for range 8 {
				if _, ok := grow(t, b, "a", limit.Small/2); !ok {
					t.Error("released bytes are still counted")
				}
			}
		})
	}
}

// TestRequestsThatWaitForEachOther checks that of requests which hold all memory and need more, some give up before the others, which then
// go on. If all gave up at once, all work would be lost.
func TestRequestsThatWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const holders = 8
		b := limit.NewBudget(1<<20, 30*time.Second)
		share := b.Largest() / holders
		var succeeded atomic.Int64
		var group sync.WaitGroup
		var all [holders]limit.Reservation
		for i := range all {
			if !b.TryGrow(&all[i], owner(strconv.Itoa(i)), share) {
				t.Fatalf("reservation %d has no room", i)
			}
		}
		begin := time.Now()
		for i := range all {
			group.Go(func() {
				if b.Grow(t.Context(), &all[i], owner(strconv.Itoa(i)), 2*share) {
					succeeded.Add(1)
				}
				all[i].Release()
			})
		}
		group.Wait()
		if succeeded.Load() < holders/2 || time.Since(begin) >= 30*time.Second {
			t.Errorf("%d of %d requests went on, after %v", succeeded.Load(), holders, time.Since(begin))
		}
		if b.Used() != 0 {
			t.Errorf("%d bytes are left", b.Used())
		}
	})
}
