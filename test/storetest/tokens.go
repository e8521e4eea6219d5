// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// RunTokens runs the suite of token counters. open returns empty counters.
func RunTokens(t *testing.T, open func(t *testing.T) store.TokenCounters) {
	t.Helper()
	tests := map[string]func(*testing.T, store.TokenCounters){
		"no tokens":                         noTokens,
		"callers are counted apart":         callersAreCountedApart,
		"a window does not grow":            windowDoesNotGrow,
		"large counts are exact":            largeCountsAreExact,
		"concurrent additions are all kept": concurrentAdditionsAreKept,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// WantTokens checks the counts of a caller and of all callers.
func WantTokens(t *testing.T, c store.TokenCounters, caller byte, own, total int64) {
	t.Helper()
	gotOwn, gotTotal, err := c.Tokens(t.Context(), store.TokenAccount{caller})
	if err != nil || gotOwn.Tokens != own || gotTotal.Tokens != total {
		t.Errorf("Tokens(%d) = %+v, %+v, %v, want %d and %d", caller, gotOwn, gotTotal, err, own, total)
	}
	for _, count := range []store.TokenCount{gotOwn, gotTotal} {
		if (count.Tokens > 0) != (count.Left > 0) || count.Left > store.TokenWindow {
			t.Errorf("Tokens(%d): window %+v", caller, count)
		}
	}
}

// AddTokens adds tokens to a caller.
func AddTokens(t *testing.T, c store.TokenCounters, caller byte, tokens int64) {
	t.Helper()
	if err := c.AddTokens(t.Context(), store.TokenAccount{caller}, tokens); err != nil {
		t.Fatalf("AddTokens(%d, %d) error = %v", caller, tokens, err)
	}
}

func noTokens(t *testing.T, c store.TokenCounters) { WantTokens(t, c, 1, 0, 0) }

func callersAreCountedApart(t *testing.T, c store.TokenCounters) {
	AddTokens(t, c, 1, 10)
	AddTokens(t, c, 2, 7)
	AddTokens(t, c, 1, 5)
	WantTokens(t, c, 1, 15, 22)
	WantTokens(t, c, 2, 7, 22)
	WantTokens(t, c, 3, 0, 22)
}

func windowDoesNotGrow(t *testing.T, c store.TokenCounters) {
	AddTokens(t, c, 1, 10)
	before, _, _ := c.Tokens(t.Context(), store.TokenAccount{1})
	AddTokens(t, c, 1, 10)
	after, _, _ := c.Tokens(t.Context(), store.TokenAccount{1})
	if after.Left > before.Left || after.Left < before.Left-time.Minute {
		t.Errorf("the window ends after %s, then after %s", before.Left, after.Left)
	}
}

func largeCountsAreExact(t *testing.T, c store.TokenCounters) {
	const tokens = 1<<52 + 1
	AddTokens(t, c, 1, tokens)
	AddTokens(t, c, 1, tokens)
	AddTokens(t, c, 1, 1)
	WantTokens(t, c, 1, 2*tokens+1, 2*tokens+1)
}

func concurrentAdditionsAreKept(t *testing.T, c store.TokenCounters) {
	var all sync.WaitGroup
	for caller := range byte(4) {
		all.Go(func() {
			for range 50 {
				if err := c.AddTokens(t.Context(), store.TokenAccount{caller}, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	WantTokens(t, c, 0, 150, 600)
}
