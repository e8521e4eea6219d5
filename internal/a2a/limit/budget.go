// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Small is what a request may hold of a budget without being asked who it is.
const Small = 64 << 10

// maxPatient bounds those who wait for a budget; further ones are refused.
const maxPatient = 64

// Budget is a number of bytes that all requests share.
//
// What is small takes one addition. What is larger is counted by key: one key
// holds one request, or several of at most half of what the large may hold, and
// the large leave a quarter to the small, so that whoever is slow with much is in
// nobody's way but its own.
type Budget struct {
	limit, used atomic.Int64
	// patience is how long somebody waits for room.
	patience time.Duration
	waiting  atomic.Int64

	mu    sync.Mutex
	large int64
	keys  map[a2a.Payer]int64
	// freed is closed when somebody gives back while others wait.
	freed chan struct{}
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64, patience time.Duration) *Budget {
	b := &Budget{patience: patience, keys: map[a2a.Payer]int64{}, freed: make(chan struct{})}
	b.limit.Store(bytes)
	return b
}

// Set changes the budget. What is held stays held.
func (b *Budget) Set(bytes int64) { b.limit.Store(bytes) }

// Largest is the most that one request can hold.
func (b *Budget) Largest() int64 { return b.limit.Load() / 4 * 3 }

// Used returns the bytes that are held.
func (b *Budget) Used() int64 { return b.used.Load() }

// Share is the part of a budget that one request holds. The zero value holds
// nothing; it is used by one goroutine.
type Share struct {
	budget *Budget
	key    a2a.Payer
	held   int64
}

// Grow has the share hold so many bytes in all, and reports false when there is
// no room for them in time.
func (b *Budget) Grow(ctx context.Context, s *Share, key a2a.Payer, to int64) bool {
	s.budget, s.key = b, key
	if to <= s.held || b.take(s, to) {
		return true
	}
	return b.wait(ctx, s, to)
}

// Release gives all of it back.
func (s *Share) Release() {
	if s.held == 0 {
		return
	}
	b := s.budget
	if s.held > Small {
		b.mu.Lock()
		b.large -= s.held
		if b.keys[s.key] -= s.held; b.keys[s.key] <= 0 {
			delete(b.keys, s.key)
		}
		b.mu.Unlock()
	}
	b.used.Add(-s.held)
	s.held = 0
	if b.waiting.Load() > 0 {
		b.mu.Lock()
		close(b.freed)
		b.freed = make(chan struct{})
		b.mu.Unlock()
	}
}

func (b *Budget) take(s *Share, to int64) bool {
	if to <= Small {
		return b.add(s, to)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	was := s.held
	if was <= Small {
		was = 0 // it was not among the large
	}
	forLarge := b.Largest()
	others := b.keys[s.key] - was
	if b.large-was+to > forLarge || others > 0 && others+to > forLarge/2 || !b.add(s, to) {
		return false
	}
	b.large += to - was
	b.keys[s.key] += to - was
	return true
}

func (b *Budget) add(s *Share, to int64) bool {
	more := to - s.held
	if b.used.Add(more) > b.limit.Load() {
		b.used.Add(-more)
		return false
	}
	s.held = to
	return true
}

func (b *Budget) wait(ctx context.Context, s *Share, to int64) bool {
	if b.waiting.Add(1) > maxPatient {
		b.waiting.Add(-1)
		return false
	}
	defer b.waiting.Add(-1)
	over := time.NewTimer(b.patience)
	defer over.Stop()
	for {
		b.mu.Lock()
		freed := b.freed
		b.mu.Unlock()
		// After freed was read: what is given back from now on is heard of.
		if b.take(s, to) {
			return true
		}
		select {
		case <-freed:
		case <-over.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
