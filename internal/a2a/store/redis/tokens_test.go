// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func TestTokenConformance(t *testing.T) {
	server := start(t)
	storetest.RunTokens(t, func(t *testing.T) store.TokenCounters { return open(t, server.options()) })
}

func TestReplicasShareTokenCounts(t *testing.T) {
	o := start(t).options()
	a, b := open(t, o), open(t, o)
	storetest.AddTokens(t, a, 1, 10)
	storetest.AddTokens(t, b, 1, 5)
	storetest.WantTokens(t, a, 1, 15, 15)
	storetest.WantTokens(t, b, 1, 15, 15)
}

// A window ends by the clock of Redis, and the next tokens begin a new one. The next
// addition removes the counts of ended windows, and all keys expire.
func TestTokenWindowsEnd(t *testing.T) {
	server := start(t)
	o := server.options()
	s, direct := open(t, o), client.NewClient(&client.Options{Addr: server.Address()})
	t.Cleanup(func() { _ = direct.Close() })
	storetest.AddTokens(t, s, 1, 10)
	storetest.AddTokens(t, s, 2, 20)
	one := store.TokenAccount{1}
	for _, account := range []string{string(one[:]), "*"} {
		if err := direct.ZAdd(t.Context(), o.Prefix+"u:ends", client.Z{Score: 1, Member: account}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	storetest.WantTokens(t, s, 1, 0, 0)
	storetest.WantTokens(t, s, 2, 20, 0)
	storetest.AddTokens(t, s, 2, 1)
	storetest.WantTokens(t, s, 2, 21, 1)
	if n := direct.HLen(t.Context(), o.Prefix+"u:tokens").Val(); n != 2 {
		t.Errorf("%d counts are stored, want 2", n)
	}
	storetest.AddTokens(t, s, 1, 3)
	storetest.WantTokens(t, s, 1, 3, 4)
	for _, key := range []string{"u:ends", "u:tokens"} {
		if ttl := direct.PTTL(t.Context(), o.Prefix+key).Val(); ttl <= store.TokenWindow || ttl > 2*store.TokenWindow {
			t.Errorf("%s expires in %s", key, ttl)
		}
	}
}

// Callers beyond the bound share one count.
func TestTokenCountsAreBounded(t *testing.T) {
	server := start(t)
	o := server.options()
	s, direct := open(t, o), client.NewClient(&client.Options{Addr: server.Address()})
	t.Cleanup(func() { _ = direct.Close() })
	ends := float64(time.Now().Add(time.Hour).UnixMilli())
	var others []client.Z
	for i := range store.MaxTokenAccounts {
		others = append(others, client.Z{Score: ends, Member: "caller " + strconv.Itoa(i)})
	}
	if err := direct.ZAdd(t.Context(), o.Prefix+"u:ends", others...).Err(); err != nil {
		t.Fatal(err)
	}
	storetest.AddTokens(t, s, 1, 10)
	storetest.AddTokens(t, s, 2, 20)
	storetest.WantTokens(t, s, 1, 30, 30)
	storetest.WantTokens(t, s, 3, 30, 30)
	if n := direct.ZCard(t.Context(), o.Prefix+"u:ends").Val(); n != store.MaxTokenAccounts+2 {
		t.Errorf("%d windows are stored", n)
	}
}

func TestTokenCountsInAnOutage(t *testing.T) {
	server := start(t)
	o := server.options()
	o.Timeout = 100 * time.Millisecond
	s := open(t, o)
	storetest.AddTokens(t, s, 1, 10)
	server.Kill()
	if _, _, err := s.Tokens(t.Context(), store.TokenAccount{1}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Tokens() error = %v", err)
	}
	if err := s.AddTokens(t.Context(), store.TokenAccount{1}, 1); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("AddTokens() error = %v", err)
	}
}
