// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// TokenCounters implements store.TokenCounters for one process. It is safe for concurrent
// use.
type TokenCounters struct {
	now func() time.Time

	mu      sync.Mutex
	callers map[store.TokenAccount]tokenWindow
	// order has the accounts of callers in the order in which their windows end: all
	// windows have the same duration.
	order []store.TokenAccount
	// shared counts the tokens of the callers beyond store.MaxTokenAccounts. total counts the
	// tokens of all callers.
	shared, total tokenWindow
}

var _ store.TokenCounters = (*TokenCounters)(nil)

// tokenWindow is a count of tokens that is valid until ends.
type tokenWindow struct {
	tokens int64
	ends   time.Time
}

// NewTokenCounters returns counters without counts. now is the clock.
func NewTokenCounters(now func() time.Time) *TokenCounters {
	return &TokenCounters{now: now, callers: map[store.TokenAccount]tokenWindow{}}
}

// Tokens implements store.TokenCounters. It never fails.
func (c *TokenCounters) Tokens(_ context.Context, caller store.TokenAccount) (own, total store.TokenCount, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.expire(now)
	w, known := c.callers[caller]
	if !known && len(c.callers) >= store.MaxTokenAccounts {
		w = c.shared
	}
	return w.count(now), c.total.count(now), nil
}

// AddTokens implements store.TokenCounters. It never fails.
func (c *TokenCounters) AddTokens(_ context.Context, caller store.TokenAccount, tokens int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.expire(now)
	c.total.add(now, tokens)
	w, known := c.callers[caller]
	switch {
	case known:
	case len(c.callers) >= store.MaxTokenAccounts:
		c.shared.add(now, tokens)
		return nil
	default:
		c.order = append(c.order, caller)
	}
	w.add(now, tokens)
	c.callers[caller] = w
	return nil
}

// Len returns the number of callers with a count of their own.
func (c *TokenCounters) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.callers)
}

// expire removes the callers whose windows have ended.
func (c *TokenCounters) expire(now time.Time) {
	for len(c.order) > 0 && !now.Before(c.callers[c.order[0]].ends) {
		delete(c.callers, c.order[0])
		c.order = c.order[1:]
	}
	if len(c.order) == 0 && c.order != nil {
		// A map keeps the memory of entries that were deleted.
		c.order = nil
		c.callers = map[store.TokenAccount]tokenWindow{}
	}
}

func (w *tokenWindow) add(now time.Time, tokens int64) {
	if !now.Before(w.ends) {
		*w = tokenWindow{ends: now.Add(store.TokenWindow)}
	}
	w.tokens += tokens
}

func (w *tokenWindow) count(now time.Time) store.TokenCount {
	if !now.Before(w.ends) {
		return store.TokenCount{}
	}
	return store.TokenCount{Tokens: w.tokens, Left: w.ends.Sub(now)}
}
