// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"
)

const (
	// TokenWindow is the duration of a window in which tokens are counted.
	TokenWindow = time.Hour
	// MaxTokenAccounts bounds the callers with a count of their own. Further callers
	// share one count.
	MaxTokenAccounts = 65_536
)

// TokenAccount identifies a caller whose tokens are counted.
type TokenAccount [16]byte

// TokenCount is the number of tokens in a window that ends after Left. It is the zero
// value while no window runs.
type TokenCount struct {
	Tokens int64
	Left   time.Duration
}

// TokenCounters count the tokens of callers, and of all callers together. Each count has a
// window of its own, which begins with the first tokens and ends after TokenWindow. The next
// tokens begin a new window.
type TokenCounters interface {
	// Tokens returns the counts of a caller and of all callers.
	Tokens(ctx context.Context, caller TokenAccount) (own, total TokenCount, err error)
	// AddTokens adds tokens to both counts in one step. Callers do not repeat a failed
	// call, because the tokens may have been counted in spite of the error.
	AddTokens(ctx context.Context, caller TokenAccount, tokens int64) error
}
