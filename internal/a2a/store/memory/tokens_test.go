// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func TestTokenConformance(t *testing.T) {
	storetest.RunTokens(t, func(*testing.T) store.TokenCounters { return memory.NewTokenCounters(time.Now) })
}

// The window of a caller begins with its first tokens, and ends an hour later for this
// caller only.
func TestTokenWindowsEnd(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	s := memory.NewTokenCounters(c.Now)
	storetest.AddTokens(t, s, 1, 10)
	c.now = c.now.Add(30 * time.Minute)
	storetest.AddTokens(t, s, 2, 20)
	storetest.AddTokens(t, s, 1, 1)
	storetest.WantTokens(t, s, 1, 11, 31)
	c.now = c.now.Add(30*time.Minute - 1)
	storetest.WantTokens(t, s, 1, 11, 31)
	c.now = c.now.Add(1)
	storetest.WantTokens(t, s, 1, 0, 0)
	storetest.WantTokens(t, s, 2, 20, 0)
	storetest.AddTokens(t, s, 1, 5)
	storetest.WantTokens(t, s, 1, 5, 5)
	c.now = c.now.Add(time.Hour)
	storetest.WantTokens(t, s, 2, 0, 0)
	if s.Len() != 0 {
		t.Errorf("%d callers are kept after their windows ended", s.Len())
	}
}

// With a million callers, the callers beyond the bound share one count, and no caller
// loses its own count. The memory is free again an hour later.
func TestTokenCountersOfAMillionCallersAreBounded(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	before := heap()
	s := memory.NewTokenCounters(c.Now)
	caller := func(i int) (account store.TokenAccount) {
		binary.BigEndian.PutUint64(account[:], uint64(i))
		return account
	}
	const callers = 1_000_000
	for i := range callers {
		if err := s.AddTokens(t.Context(), caller(i), 2); err != nil {
			t.Fatal(err)
		}
	}
	if s.Len() != store.MaxTokenAccounts {
		t.Errorf("%d callers have a count of their own, want %d", s.Len(), store.MaxTokenAccounts)
	}
	used := heap() - before
	t.Logf("%d bytes", used)
	if used > 16<<20 {
		t.Errorf("the counters hold %d bytes, want at most 16 MiB", used)
	}
	for account, want := range map[int]int64{
		0: 2, store.MaxTokenAccounts - 1: 2, store.MaxTokenAccounts: 2 * (callers - store.MaxTokenAccounts), callers + 1: 2 * (callers - store.MaxTokenAccounts),
	} {
		own, total, _ := s.Tokens(t.Context(), caller(account))
		if own.Tokens != want || total.Tokens != 2*callers {
			t.Errorf("caller %d has %d of %d tokens, want %d", account, own.Tokens, total.Tokens, want)
		}
	}
	c.now = c.now.Add(time.Hour)
	storetest.WantTokens(t, s, 1, 0, 0)
	if after := heap() - before; after > 1<<20 {
		t.Errorf("the counters hold %d bytes after all windows ended", after)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
