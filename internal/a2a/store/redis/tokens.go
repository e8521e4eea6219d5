// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var _ store.TokenCounters = (*Store)(nil)

// Tokens implements store.TokenCounters. Options.Timeout bounds it.
func (s *Store) Tokens(ctx context.Context, caller store.TokenAccount) (own, total store.TokenCount, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	reply, err := s.calls.pipelined(ctx, s.scripts.tokens, len(caller), caller[:], store.MaxTokenAccounts)
	if err != nil {
		return own, total, err
	}
	a := newReplyReader(reply)
	for _, c := range []*store.TokenCount{&own, &total} {
		c.Tokens = int64(a.number())                          // a count of tokens fits
		c.Left = time.Duration(a.number()) * time.Millisecond // at most an hour
	}
	return own, total, a.err
}

// AddTokens implements store.TokenCounters. Options.Timeout bounds it.
func (s *Store) AddTokens(ctx context.Context, caller store.TokenAccount, tokens int64) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	_, err := s.calls.pipelined(ctx, s.scripts.addTokens, len(caller), caller[:], store.MaxTokenAccounts,
		strconv.FormatInt(tokens, 10), millis(store.TokenWindow))
	return err
}
