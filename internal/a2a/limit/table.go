// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limit counts what callers use, in bounded memory: requests, streams
// and the bytes of bodies. It says yes or no, and when to come back; it knows
// no transport, no protocol and no setting but those that it is given.
package limit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Rate is a number of events a second, and how many may come at once.
type Rate struct {
	PerSecond, Burst int
}

// Refusal is what a bucket says of an event that it does not allow.
type Refusal struct {
	// Limit is the burst. Wait is how long until the next event is allowed, Full
	// until all of the burst is.
	Limit      int
	Wait, Full time.Duration
}

// Bucket is a token bucket whose rate may change.
type Bucket struct{ limiter *rate.Limiter }

// NewBucket returns a full bucket.
func NewBucket(r Rate) Bucket {
	return Bucket{rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)}
}

// Set changes the rate. What was spent stays spent.
func (b Bucket) Set(r Rate, now time.Time) {
	b.limiter.SetLimitAt(now, rate.Limit(r.PerSecond))
	b.limiter.SetBurstAt(now, r.Burst)
}

// Take takes an event's token, if there is one.
func (b Bucket) Take(now time.Time) bool { return b.limiter.AllowN(now, 1) }

// Empty reports whether Take would fail, and takes nothing.
func (b Bucket) Empty(now time.Time) bool { return b.limiter.TokensAt(now) < 1 }

// Refusal says more of an event for which there was no token.
func (b Bucket) Refusal(now time.Time) Refusal {
	tokens, perSecond, burst := b.limiter.TokensAt(now), float64(b.limiter.Limit()), b.limiter.Burst()
	after := func(missing float64) time.Duration {
		return time.Duration(max(missing, 0) / perSecond * float64(time.Second))
	}
	return Refusal{Limit: burst, Wait: after(1 - tokens), Full: after(float64(burst) - tokens)}
}

func (b Bucket) full(now time.Time) bool {
	return b.limiter.TokensAt(now) >= float64(b.limiter.Burst())
}

// account is what one key owes.
type account struct {
	bucket Bucket
	// held counts what is given back, such as open streams.
	held atomic.Int64
}

// settled reports whether an account tells no more than a new one would.
func (a *account) settled(now time.Time) bool { return a.held.Load() == 0 && a.bucket.full(now) }

const shards = 16

// sweepEvery bounds how often a full shard looks for accounts to drop.
const sweepEvery = 100 * time.Millisecond

// Table has an account for each key, and a bounded number of them.
//
// A cache that forgets whom it saw longest ago would forgive the debts of those
// who bring enough strangers along. So only accounts are dropped that owe
// nothing, and when there is none, new keys share one account until there is.
type Table struct {
	seed      maphash.Seed
	rate      atomic.Pointer[Rate]
	strangers account
	perShard  int
	shards    [shards]shard
}

type shard struct {
	mu       sync.RWMutex
	accounts map[a2a.AccountingPrincipal]*account
	swept    time.Time
}

// NewTable returns a table with room for about capacity keys.
func NewTable(capacity int, r Rate) *Table {
	t := &Table{seed: maphash.MakeSeed(), perShard: max(capacity/shards, 1), strangers: account{bucket: NewBucket(r)}}
	t.rate.Store(&r)
	for i := range t.shards {
		t.shards[i].accounts = map[a2a.AccountingPrincipal]*account{}
	}
	return t
}

// Set changes the rate of all keys.
func (t *Table) Set(r Rate, now time.Time) {
	if *t.rate.Load() == r {
		return
	}
	t.rate.Store(&r)
	t.strangers.bucket.Set(r, now)
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for _, a := range s.accounts {
			a.bucket.Set(r, now)
		}
		s.mu.Unlock()
	}
}

// Len returns the number of keys with an account.
func (t *Table) Len() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.RLock()
		n += len(s.accounts)
		s.mu.RUnlock()
	}
	return n
}

// Bucket returns the bucket of a key.
func (t *Table) Bucket(k a2a.AccountingPrincipal, now time.Time) Bucket {
	s := t.shard(k)
	s.mu.RLock()
	a := s.accounts[k]
	s.mu.RUnlock()
	if a != nil {
		return a.bucket
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.open(s, k, now).bucket
}

// Known returns the bucket of a key that has one, and opens no account.
func (t *Table) Known(k a2a.AccountingPrincipal) (Bucket, bool) {
	s := t.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.accounts[k]; a != nil {
		return a.bucket, true
	}
	return t.strangers.bucket, len(s.accounts) >= t.perShard
}

// Hold adds one to what a key holds, unless that is limit already. The caller
// calls release once.
func (t *Table) Hold(k a2a.AccountingPrincipal, limit int, now time.Time) (release func(), ok bool) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := t.open(s, k, now)
	if a.held.Load() >= int64(limit) {
		return nil, false
	}
	a.held.Add(1)
	return func() { a.held.Add(-1) }, true
}

func (t *Table) shard(k a2a.AccountingPrincipal) *shard {
	return &t.shards[maphash.Comparable(t.seed, k)%shards]
}

// open returns the account of a key. The shard is locked.
func (t *Table) open(s *shard, k a2a.AccountingPrincipal, now time.Time) *account {
	if a := s.accounts[k]; a != nil {
		return a
	}
	if len(s.accounts) >= t.perShard && !s.sweep(now) {
		return &t.strangers
	}
	a := &account{bucket: NewBucket(*t.rate.Load())}
	s.accounts[k] = a
	return a
}

// sweep drops the accounts that owe nothing, and reports whether there were any.
func (s *shard) sweep(now time.Time) bool {
	if now.Sub(s.swept) < sweepEvery {
		return false
	}
	s.swept = now
	before := len(s.accounts)
	for k, a := range s.accounts {
		if a.settled(now) {
			delete(s.accounts, k)
		}
	}
	return len(s.accounts) < before
}
