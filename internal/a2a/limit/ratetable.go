// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limit implements the limits of callers, in bounded memory: token buckets for
// rates, counters for concurrency, and a memory budget.
//
// It decides whether an event is allowed, and when the next event is allowed. It depends on
// no transport and no protocol, and sets no default limit.
package limit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Rate is a number of events per second, and the number of events that may come at once
// (Burst).
type Rate struct {
	PerSecond, Burst int
}

// Refusal describes an event that a bucket does not allow.
type Refusal struct {
	// Limit is the burst. Wait is the time until the next event is allowed. Full is
	// the time until the whole burst is available again.
	Limit      int
	Wait, Full time.Duration
}

// Bucket is a token bucket whose rate may change.
type Bucket struct{ limiter *rate.Limiter }

// NewBucket returns a full bucket.
func NewBucket(r Rate) Bucket {
	return Bucket{rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)}
}

// Set changes the rate. Spent tokens stay spent.
func (b Bucket) Set(r Rate, now time.Time) {
	b.limiter.SetLimitAt(now, rate.Limit(r.PerSecond))
	b.limiter.SetBurstAt(now, r.Burst)
}

// Take takes one token, and returns false if there is none.
func (b Bucket) Take(now time.Time) bool { return b.TakeN(now, 1) }

// TakeN takes n tokens, or takes none and returns false if the bucket has fewer.
func (b Bucket) TakeN(now time.Time, n int) bool { return b.limiter.AllowN(now, n) }

// TakeAbove takes one token if rest tokens then remain, and otherwise returns false. Calls at the same time may leave fewer.
func (b Bucket) TakeAbove(now time.Time, rest int) bool {
	return (rest == 0 || b.limiter.TokensAt(now) >= float64(rest+1)) && b.Take(now)
}

// Empty reports whether Take would return false. It takes no token.
func (b Bucket) Empty(now time.Time) bool { return b.limiter.TokensAt(now) < 1 }

// Refusal describes the current state of the bucket, for an event that found no token.
func (b Bucket) Refusal(now time.Time) Refusal { return b.RefusalN(now, 1) }

// RefusalN describes the current state of the bucket, for an event that found fewer than n
// tokens. Refusal.Wait is the time until the bucket has n tokens.
func (b Bucket) RefusalN(now time.Time, n int) Refusal {
	tokens := b.limiter.TokensAt(now)
	perSecond := float64(b.limiter.Limit())
	burst := b.limiter.Burst()
	after := func(missing float64) time.Duration {
		return time.Duration(max(missing, 0) / perSecond * float64(time.Second))
	}
	return Refusal{Limit: burst, Wait: after(float64(n) - tokens), Full: after(float64(burst) - tokens)}
}

func (b Bucket) full(now time.Time) bool {
	return b.limiter.TokensAt(now) >= float64(b.limiter.Burst())
}

// account is the usage of one principal.
type account struct {
	bucket Bucket
	// held counts concurrent uses, such as open streams.
	held atomic.Int64
}

// idle reports whether an account equals a new one.
func (a *account) idle(now time.Time) bool { return a.held.Load() == 0 && a.bucket.full(now) }

const shards = 16

// sweepInterval is the least time between two searches of a full shard for idle accounts.
const sweepInterval = 100 * time.Millisecond

// Table has one account for each principal, and a bounded number of accounts. It is
// safe for concurrent use.
//
// It evicts idle accounts only. If no account is idle, new principals share one account.
// With an LRU cache, an attacker with many principals could evict the account of a
// principal that has used up its limit.
type Table struct {
	seed     maphash.Seed
	rate     atomic.Pointer[Rate]
	overflow account
	perShard int
	shards   [shards]shard
}

type shard struct {
	mu       sync.RWMutex
	accounts map[a2a.AccountingPrincipal]*account
	swept    time.Time
}

// NewTable returns a table of about capacity accounts.
func NewTable(capacity int, r Rate) *Table {
	t := &Table{seed: maphash.MakeSeed(), perShard: max(capacity/shards, 1), overflow: account{bucket: NewBucket(r)}}
	t.rate.Store(&r)
	for i := range t.shards {
		t.shards[i].accounts = map[a2a.AccountingPrincipal]*account{}
	}
	return t
}

// Set changes the rate of all principals.
func (t *Table) Set(r Rate, now time.Time) {
	if *t.rate.Load() == r {
		return
	}
	t.rate.Store(&r)
	t.overflow.bucket.Set(r, now)
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for _, a := range s.accounts {
			a.bucket.Set(r, now)
		}
		s.mu.Unlock()
	}
}

// Len returns the number of principals with an account of their own.
func (t *Table) Len() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.RLock()
		n += len(s.accounts)
		s.mu.RUnlock()
	}
	return n
}

// Bucket returns the bucket of a principal, and creates its account if the table has room.
// If the table is full, Bucket returns the bucket that all further principals share.
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

// Known returns the bucket that a principal uses, and true. It creates no account. For a
// principal without an account, it returns the shared bucket. The second result is then false
// if the table has room for a new account, because the principal would get a bucket of its own.
func (t *Table) Known(k a2a.AccountingPrincipal) (Bucket, bool) {
	s := t.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.accounts[k]; a != nil {
		return a.bucket, true
	}
	return t.overflow.bucket, len(s.accounts) >= t.perShard
}

// Hold counts one concurrent use of a principal (concurrency limiter). If the principal
// already has limit uses, ok is false and release is nil. Otherwise the caller calls release
// once, at the end of the use.
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

// open returns the account of a principal, which it creates if the shard has room, and
// otherwise overflow. The caller holds the lock of the shard.
func (t *Table) open(s *shard, k a2a.AccountingPrincipal, now time.Time) *account {
	if a := s.accounts[k]; a != nil {
		return a
	}
	if len(s.accounts) >= t.perShard && !s.sweep(now) {
		return &t.overflow
	}
	a := &account{bucket: NewBucket(*t.rate.Load())}
	s.accounts[k] = a
	return a
}

// sweep evicts idle accounts, and reports whether it evicted any. Within sweepInterval of
// the last search, it does not search and returns false. The caller holds the lock of the
// shard.
func (s *shard) sweep(now time.Time) bool {
	if now.Sub(s.swept) < sweepInterval {
		return false
	}
	s.swept = now
	before := len(s.accounts)
	for k, a := range s.accounts {
		if a.idle(now) {
			delete(s.accounts, k)
		}
	}
	return len(s.accounts) < before
}
