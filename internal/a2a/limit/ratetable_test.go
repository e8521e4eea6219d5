// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func owner(name string) a2a.AccountingPrincipal { return a2a.AccountingPrincipal{Principal: name} }

// tokens takes all tokens and returns their number.
func tokens(b limit.Bucket, now time.Time) (n int) {
	for b.Take(now) {
		n++
	}
	return n
}

func TestBucket(t *testing.T) {
	b := limit.NewBucket(limit.Rate{PerSecond: 10, Burst: 2})
	if n := tokens(b, start); n != 2 || !b.Empty(start) {
		t.Errorf("a bucket with a burst of two has %d tokens", n)
	}
	want := limit.Refusal{Limit: 2, Wait: 100 * time.Millisecond, Full: 200 * time.Millisecond}
	if diff := cmp.Diff(want, b.Refusal(start)); diff != "" {
		t.Errorf("Refusal() (-want +got):\n%s", diff)
	}
	if n := tokens(b, start.Add(want.Wait)); n != 1 {
		t.Errorf("%d tokens after Refusal.Wait", n)
	}
	b.Set(limit.Rate{PerSecond: 10, Burst: 100}, start.Add(want.Wait))
	if !b.Empty(start.Add(want.Wait)) {
		t.Error("Set() refilled the bucket")
	}
}

// TestNewPrincipalsEvictNoUsedAccount: an account that has used up its limit is not
// evicted when thousands of new principals arrive.
func TestNewPrincipalsEvictNoUsedAccount(t *testing.T) {
	table := limit.NewTable(64, limit.Rate{PerSecond: 1, Burst: 2})
	used := owner("used")
	table.Bucket(used, start).Take(start)
	table.Bucket(used, start).Take(start)
	refused := 0
	for i := range 10_000 {
		if !table.Bucket(owner(strconv.Itoa(i)), start).Take(start) {
			refused++
		}
	}
	if table.Bucket(used, start).Take(start) {
		t.Error("the account was evicted")
	}
	if n := table.Len(); n > 64 {
		t.Errorf("%d accounts in a table for 64", n)
	}
	if refused < 9_900 {
		t.Errorf("of 10,000 principals beyond the capacity, %d were refused", refused)
	}
	// Idle accounts make room for new ones.
	later := start.Add(time.Minute)
	if n := tokens(table.Bucket(owner("fresh"), later), later); n != 2 {
		t.Errorf("a new caller has %d tokens, want an account of its own", n)
	}
}

func TestHold(t *testing.T) {
	table := limit.NewTable(16, limit.Rate{PerSecond: 1, Burst: 1})
	k := owner("a")
	first, ok := table.Hold(k, 2, start)
	_, ok2 := table.Hold(k, 2, start)
	_, ok3 := table.Hold(k, 2, start)
	if !ok || !ok2 || ok3 {
		t.Errorf("Hold() of two = %t, %t, %t", ok, ok2, ok3)
	}
	// New principals do not evict an account with concurrent uses.
	for i := range 1_000 {
		at := start.Add(time.Duration(i) * time.Second)
		table.Bucket(owner(strconv.Itoa(i)), at).Take(at)
	}
	if _, ok := table.Hold(k, 2, start); ok {
		t.Error("the account was evicted")
	}
	first()
	if _, ok := table.Hold(k, 2, start); !ok {
		t.Error("a released use is still counted")
	}
}

func TestSetChangesAllAccounts(t *testing.T) {
	table := limit.NewTable(16, limit.Rate{PerSecond: 1, Burst: 1})
	k := owner("a")
	table.Bucket(k, start).Take(start)
	table.Set(limit.Rate{PerSecond: 100, Burst: 5}, start)
	later := start.Add(time.Second)
	if n := tokens(table.Bucket(k, later), later); n != 5 {
		t.Errorf("%d tokens of an earlier account at the new rate, want 5", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	table := limit.NewTable(32, limit.Rate{PerSecond: 1, Burst: 100})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2_000 {
				k := owner(strconv.Itoa((g * i) % 100))
				table.Bucket(k, start).Take(start)
				if release, ok := table.Hold(k, 3, start); ok {
					release()
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkRequest measures the check of the rate limits, which every request passes.
func BenchmarkRequest(b *testing.B) {
	table := limit.NewTable(4096, limit.Rate{PerSecond: 1 << 30, Burst: 1 << 30})
	agent := limit.NewBucket(limit.Rate{PerSecond: 1 << 30, Burst: 1 << 30})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		k := owner("system:serviceaccount:team:caller")
		for pb.Next() {
			now := time.Now()
			if !table.Bucket(k, now).Take(now) || !agent.Take(now) {
				b.Error("refused")
			}
		}
	})
}

func BenchmarkAddress(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		a2a.AccountingPrincipalAt("192.0.2.1:51234")
	}
}

func TestRequestsCostNoMemory(t *testing.T) {
	table := limit.NewTable(4096, limit.Rate{PerSecond: 1 << 30, Burst: 1 << 30})
	k := owner("a")
	table.Bucket(k, start)
	if n := testing.AllocsPerRun(100, func() {
		table.Bucket(k, start).Take(start)
		table.Bucket(a2a.AccountingPrincipalAt("192.0.2.1:51234"), start)
	}); n != 0 {
		t.Errorf("%v allocations for a request, want none", n)
	}
}
