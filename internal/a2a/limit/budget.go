// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Small is the largest reservation, in bytes, that counts as small.
const Small = 64 << 10

// maxWaiters bounds the requests that wait for memory; further ones are refused. Budget.Waiters
// replaces it.
const maxWaiters = 64

// Budget is a number of bytes that all requests share. It sheds load: a request that gets no
// room in time is refused. It is safe for concurrent use.
//
// A slow client, with large or with many requests, delays only its own requests, because the
// budget limits what one principal holds. All ServiceAccounts of one namespace are one principal
// (a2a.AccountingPrincipal.Share):
//
//   - A reservation of more than Small bytes is large. A principal may hold one large
//     reservation, or several whose sum is at most half of Largest. All large reservations
//     together hold at most Largest. An eighth of the budget beyond that is for principals whose
//     only large reservation has at most a sixteenth, so that one principal with Largest bytes does not stop
//     all others. Another eighth is left to small reservations.
//   - Small reservations are counted for no principal while they hold at most an eighth of the
//     budget. Each of them then needs only two atomic additions and no lock.
//   - Further small reservations are counted for their principal. A principal may hold one of
//     these, or several whose sum is at most a quarter of the budget and at most twice the
//     bytes that stay free.
//   - While a request waits for more than Small bytes, the budget ends overdue transfers of
//     others (Watch).
type Budget struct {
	limit, used atomic.Int64
	// uncounted is the sum of small reservations that are counted for no principal.
	uncounted atomic.Int64
	timeout   time.Duration
	// maxWaiters bounds waiting.
	maxWaiters int64
	waiting    atomic.Int64

	mu sync.Mutex
	// waiters counts the waiting requests of each principal.
	waiters map[a2a.AccountingPrincipal]int64
	// largeTotal is the sum of large.
	largeTotal int64
	// large and small are the bytes that each principal holds.
	large, small map[a2a.AccountingPrincipal]int64
	// freed is made by a request that waits, and closed when bytes are released.
	freed chan struct{}
	// transfers are those that the budget may stop. slow has the principals whose transfers it has stopped, until when they come last, and
	// prompt is the number of requests of others that wait for large reservations. now is the clock of the last transfer.
	transfers map[*Transfer]struct{}
	slow      map[a2a.AccountingPrincipal]time.Time
	prompt    int
	now       func() time.Time
}

// NewBudget returns a budget of the given number of bytes. A request waits for memory for
// at most timeout. One that holds memory waits for a random part of it, a sixth at least: of
// requests that wait for each other's memory, some then give up before the others.
func NewBudget(bytes int64, timeout time.Duration) *Budget {
	b := &Budget{
		timeout: timeout, maxWaiters: maxWaiters,
		large:   map[a2a.AccountingPrincipal]int64{},
		small:   map[a2a.AccountingPrincipal]int64{},
		waiters: map[a2a.AccountingPrincipal]int64{},

		transfers: map[*Transfer]struct{}{},
		slow:      map[a2a.AccountingPrincipal]time.Time{},
	}
	b.limit.Store(bytes)
	return b
}

// Waiters sets the number of requests that may wait for memory, before the first use of the
// budget, and returns the budget.
func (b *Budget) Waiters(most int64) *Budget {
	b.maxWaiters = most
	return b
}

// Set changes the size of the budget. Reservations stay as they are.
func (b *Budget) Set(bytes int64) { b.limit.Store(bytes) }

// Largest returns the size of the largest possible reservation, in bytes.
func (b *Budget) Largest() int64 { return b.limit.Load() / 4 * 3 }

// Used returns the bytes that are reserved.
func (b *Budget) Used() int64 { return b.used.Load() }

// Reservation is the part of a budget that one request holds. The zero value holds
// nothing. One goroutine at a time may use it.
type Reservation struct {
	budget *Budget
	// principal is the one that shares the budget, and account the caller.
	principal a2a.AccountingPrincipal
	account   a2a.AccountingPrincipal
	held      int64
	class     class
}

// class identifies the counters of the budget that include a reservation.
type class uint8

const (
	classUncounted class = iota
	classSmall
	classLarge
)

// Grow raises the reservation to a total of to bytes. It waits until the budget has room.
// It returns false and leaves the reservation unchanged if the time-out or ctx ends
// first, or if too many requests wait already.
func (b *Budget) Grow(ctx context.Context, r *Reservation, principal a2a.AccountingPrincipal, to int64) bool {
	return b.TryGrow(r, principal, to) || b.wait(ctx, r, to)
}

// TryGrow raises the reservation to a total of to bytes. It returns false and leaves the
// reservation unchanged if the budget has no room now.
func (b *Budget) TryGrow(r *Reservation, principal a2a.AccountingPrincipal, to int64) bool {
	r.budget = b
	r.account = principal
	r.principal = principal.Share()
	return to <= r.held || b.tryGrow(r, to)
}

// Held returns the bytes that the reservation holds.
func (r *Reservation) Held() int64 { return r.held }

// Release returns all bytes to the budget. It may be called more than once.
func (r *Reservation) Release() {
	if r.held == 0 {
		return
	}
	b := r.budget
	if r.class == classUncounted {
		b.uncount(r, r.held)
	} else {
		b.mu.Lock()
		b.uncount(r, r.held)
		b.mu.Unlock()
	}
	b.used.Add(-r.held)
	r.held = 0
	r.class = classUncounted
	if b.waiting.Load() > 0 {
		b.mu.Lock()
		if b.freed != nil {
			close(b.freed)
			b.freed = nil
		}
		b.mu.Unlock()
	}
}

func (b *Budget) tryGrow(r *Reservation, to int64) bool {
	if to <= Small {
		return b.tryGrowSmall(r, to)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	was := r.held
	if b.prompt > 0 && was == 0 && b.isSlow(r.account) {
		return false
	}
	if !b.hasLargeRoom(r, to) || !b.hasShare(r, to) || !b.reserve(r, to) {
		return false
	}
	b.uncount(r, was)
	r.class = classLarge
	b.largeTotal += to
	b.large[r.principal] += to
	return true
}

// large returns what the reservation counts among the large ones, in bytes.
func (r *Reservation) large() int64 {
	if r.class != classLarge {
		return 0
	}
	return r.held
}

// hasLargeRoom reports whether large reservations leave room for one of to bytes. The caller holds the lock.
func (b *Budget) hasLargeRoom(r *Reservation, to int64) bool {
	beyond := b.largeTotal - r.large() + to - b.Largest()
	limit := b.limit.Load()
	isOnly := b.large[r.principal] == r.large()
	return beyond <= 0 || isOnly && to <= limit/16 && beyond <= limit/8
}

// hasShare reports whether a principal may have a large reservation of to bytes, as soon as others leave room for it. The caller holds the
// lock.
func (b *Budget) hasShare(r *Reservation, to int64) bool {
	others := b.large[r.principal] - r.large()
	return to <= b.Largest() && (others <= 0 || others+to <= b.Largest()/2)
}

// tryGrowSmall raises a small reservation. It counts the reservation for no principal
// while such reservations hold at most an eighth of the budget.
func (b *Budget) tryGrowSmall(r *Reservation, to int64) bool {
	was := r.held
	limit := b.limit.Load()
	if r.class == classUncounted {
		if b.uncounted.Add(to-was) <= limit/8 && b.reserve(r, to) {
			return true
		}
		b.uncounted.Add(was - to)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	others := b.small[r.principal]
	if r.class == classSmall {
		others -= was
	}
	free := limit - b.used.Load() - (to - was)
	if others > 0 && others+to > min(2*free, limit/4) || !b.reserve(r, to) {
		return false
	}
	b.uncount(r, was)
	r.class = classSmall
	b.small[r.principal] += to
	return true
}

// uncount subtracts was bytes of a reservation from the counters of its class. The
// caller holds the lock, unless the class is classUncounted.
func (b *Budget) uncount(r *Reservation, was int64) {
	switch r.class {
	case classUncounted:
		b.uncounted.Add(-was)
	case classSmall:
		subtract(b.small, r.principal, was)
	case classLarge:
		b.largeTotal -= was
		subtract(b.large, r.principal, was)
	}
}

// subtract lowers a counter, and deletes it at zero.
func subtract(counts map[a2a.AccountingPrincipal]int64, principal a2a.AccountingPrincipal, by int64) {
	counts[principal] -= by
	if counts[principal] <= 0 {
		delete(counts, principal)
	}
}

// reserve raises the reservation to a total of to bytes if the budget as a whole has room,
// and reports whether it did.
func (b *Budget) reserve(r *Reservation, to int64) bool {
	more := to - r.held
	if b.used.Add(more) > b.limit.Load() {
		b.used.Add(-more)
		return false
	}
	r.held = to
	return true
}

// enqueue counts a waiting request. It returns false if maxWaiters requests wait already. A
// principal with a waiting request gets another place only if its requests then take at
// most twice as many places as are free. Otherwise enqueue returns false, too.
func (b *Budget) enqueue(principal a2a.AccountingPrincipal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.waiters[principal]
	free := b.maxWaiters - b.waiting.Load() - 1
	if free < 0 || waiting > 0 && waiting+1 > 2*free {
		return false
	}
	b.waiting.Add(1)
	b.waiters[principal]++
	return true
}

func (b *Budget) dequeue(principal a2a.AccountingPrincipal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Add(-1)
	subtract(b.waiters, principal, 1)
}

func (b *Budget) wait(ctx context.Context, r *Reservation, to int64) bool {
	if !b.enqueue(r.principal) {
		return false
	}
	defer b.dequeue(r.principal)
	lasts := b.timeout
	if r.held > 0 {
		lasts = lasts/6 + rand.N(lasts/6*5+1) //nolint:gosec // it spreads ends
	}
	timeout := time.NewTimer(lasts)
	defer timeout.Stop()
	var check <-chan time.Time
	if to > Small {
		ticker := time.NewTicker(checkInterval)
		defer ticker.Stop()
		check = ticker.C
		defer b.waitPromptly(r, to)()
	}
	for {
		b.mu.Lock()
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		// freed was read before this call of tryGrow, so no release is missed: an earlier
		// release makes room for tryGrow, and a later release closes freed.
		if b.tryGrow(r, to) {
			return true
		}
		select {
		case <-freed:
		case <-check:
			b.takeBack(r, to)
		case <-timeout.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
