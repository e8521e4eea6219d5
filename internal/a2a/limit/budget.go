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

// maxPatient bounds those who wait for a budget; further ones are refused. One
// key has at most twice the places that it leaves to others.
const maxPatient = 64

// Budget is a number of bytes that all requests share.
//
// What is larger than Small is counted by key: one key holds one request, or
// several of at most half of what the large may hold, and the large leave a
// quarter to the small. What is small takes two additions while there is little
// of it, and is counted by key beyond that: one key holds one request, or at most
// a quarter and twice what it leaves to others. So whoever is slow, with much or
// with many, is in nobody's way but its own.
type Budget struct {
	limit, used atomic.Int64
	// unnamed is what the small hold that are not counted by key.
	unnamed atomic.Int64
	// patience is how long somebody waits for room.
	patience time.Duration
	waiting  atomic.Int64

	mu sync.Mutex
	// patient is how often each key waits.
	patient map[a2a.AccountingPrincipal]int64
	large   int64
	// keys and small are what each key holds of the large, and of the small.
	keys, small map[a2a.AccountingPrincipal]int64
	// freed is closed when somebody gives back while others wait.
	freed chan struct{}
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64, patience time.Duration) *Budget {
	b := &Budget{patience: patience, keys: map[a2a.AccountingPrincipal]int64{}, small: map[a2a.AccountingPrincipal]int64{}, patient: map[a2a.AccountingPrincipal]int64{}, freed: make(chan struct{})}
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
	key    a2a.AccountingPrincipal
	held   int64
	as     class
}

// class is what a share is counted among.
type class uint8

const (
	classUnnamed class = iota
	classSmall
	classLarge
)

// Grow has the share hold so many bytes in all, and reports false when there is
// no room for them in time.
func (b *Budget) Grow(ctx context.Context, s *Share, key a2a.AccountingPrincipal, to int64) bool {
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
	if s.as == classUnnamed {
		b.uncount(s, s.held)
	} else {
		b.mu.Lock()
		b.uncount(s, s.held)
		b.mu.Unlock()
	}
	b.used.Add(-s.held)
	s.held, s.as = 0, classUnnamed
	if b.waiting.Load() > 0 {
		b.mu.Lock()
		close(b.freed)
		b.freed = make(chan struct{})
		b.mu.Unlock()
	}
}

func (b *Budget) take(s *Share, to int64) bool {
	if to <= Small {
		return b.takeSmall(s, to)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	was, counted := s.held, int64(0)
	if s.as == classLarge {
		counted = was
	}
	forLarge := b.Largest()
	others := b.keys[s.key] - counted
	if b.large-counted+to > forLarge || others > 0 && others+to > forLarge/2 || !b.add(s, to) {
		return false
	}
	b.uncount(s, was)
	s.as = classLarge
	b.large += to
	b.keys[s.key] += to
	return true
}

// takeSmall asks for no key while there is little that is small.
func (b *Budget) takeSmall(s *Share, to int64) bool {
	was, limit := s.held, b.limit.Load()
	if s.as == classUnnamed {
		if b.unnamed.Add(to-was) <= limit/8 && b.add(s, to) {
			return true
		}
		b.unnamed.Add(was - to)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	others := b.small[s.key]
	if s.as == classSmall {
		others -= was
	}
	left := limit - b.used.Load() - (to - was)
	if others > 0 && others+to > min(2*left, limit/4) || !b.add(s, to) {
		return false
	}
	b.uncount(s, was)
	s.as = classSmall
	b.small[s.key] += to
	return true
}

// uncount forgets what a share held, in its class. Unless it has no name, the
// lock is held.
func (b *Budget) uncount(s *Share, was int64) {
	switch s.as {
	case classUnnamed:
		b.unnamed.Add(-was)
	case classSmall:
		lessen(b.small, s.key, was)
	case classLarge:
		b.large -= was
		lessen(b.keys, s.key, was)
	}
}

func lessen(held map[a2a.AccountingPrincipal]int64, key a2a.AccountingPrincipal, by int64) {
	if held[key] -= by; held[key] <= 0 {
		delete(held, key)
	}
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

// queue takes a place in which a key may wait.
func (b *Budget) queue(key a2a.AccountingPrincipal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine, left := b.patient[key], maxPatient-b.waiting.Load()-1
	if left < 0 || mine > 0 && mine+1 > 2*left {
		return false
	}
	b.waiting.Add(1)
	b.patient[key]++
	return true
}

func (b *Budget) unqueue(key a2a.AccountingPrincipal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Add(-1)
	lessen(b.patient, key, 1)
}

func (b *Budget) wait(ctx context.Context, s *Share, to int64) bool {
	if !b.queue(s.key) {
		return false
	}
	defer b.unqueue(s.key)
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
