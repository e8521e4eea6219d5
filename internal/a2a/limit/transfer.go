// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// A transfer is slow if it is behind leastRate, in bytes a second, by more than slack bytes: after half a second if nothing moves. It is
// overdue if it is slow, or has lasted for mostPatience. For slowFor after a slow transfer of an account was stopped, others that wait come
// before it.
const (
	leastRate    = 128 << 10
	slack        = 64 << 10
	mostPatience = 10 * time.Second
	slowFor      = 10 * time.Second
)

// checkInterval is the time between two checks for an overdue transfer while a request waits.
const checkInterval = 100 * time.Millisecond

// Transfer is a body or an answer whose memory a large reservation holds until the other side has sent or read it. A budget ends it if it is
// overdue and others wait for memory. It is safe for concurrent use.
type Transfer struct {
	now   func() time.Time
	began time.Time
	// account is the caller, and share the one that shares the budget.
	account, share a2a.AccountingPrincipal
	stop           func()
	bytes          atomic.Int64

	mu             sync.Mutex
	stopped, ended bool
}

// Moved counts bytes that have been sent or read.
func (t *Transfer) Moved(n int) { t.bytes.Add(int64(n)) }

func (t *Transfer) isSlow() bool {
	return float64(t.bytes.Load()+slack) < t.now().Sub(t.began).Seconds()*leastRate
}

func (t *Transfer) isOverdue() bool { return t.isSlow() || t.now().Sub(t.began) > mostPatience }

// Unstopped calls set, which sets a deadline, and returns true, unless the budget has stopped the transfer.
func (t *Transfer) Unstopped(set func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		set()
	}
	return !t.stopped
}

// Watch begins a transfer with the memory of a large reservation: while a request of another principal waits for a large reservation, and
// the transfer is overdue, the budget calls stop, which makes the holder release the reservation. It does so at most once, and not after
// end has returned. The holder calls end before it releases the reservation. stop must not use the budget. For a small reservation, Watch
// returns nil.
func (b *Budget) Watch(r *Reservation, now func() time.Time, stop func()) (t *Transfer, end func()) {
	if r.class != classLarge {
		return nil, func() {}
	}
	t = &Transfer{now: now, began: now(), account: r.account, share: r.principal, stop: stop}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
	b.transfers[t] = struct{}{}
	return t, func() {
		b.mu.Lock()
		delete(b.transfers, t)
		b.mu.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = true
	}
}

// takeBack stops an overdue transfer of another account, if there is one, for a reservation that waits for room of to bytes. If the waiting
// account lacks a share, only another account of the same share can give it.
func (b *Budget) takeBack(r *Reservation, to int64) {
	t := b.overdueFor(r, to)
	if t == nil {
		return
	}
	// The budget is not locked: stop may take long.
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.stopped = true
		t.stop()
	}
}

// overdueFor returns the transfer that takeBack stops, nil for none, and does not return it again.
func (b *Budget) overdueFor(r *Reservation, to int64) *Transfer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to > b.Largest() {
		return nil
	}
	hasShare := b.hasShare(r, to)
	for t := range b.transfers {
		if t.account == r.account || !hasShare && t.share != r.principal || !t.isOverdue() {
			continue
		}
		delete(b.transfers, t)
		if t.isSlow() {
			now := b.now()
			maps.DeleteFunc(b.slow, func(_ a2a.AccountingPrincipal, until time.Time) bool { return now.After(until) })
			b.slow[t.account] = now.Add(slowFor)
		}
		return t
	}
	return nil
}

// isSlow reports whether a transfer of a principal was stopped in the last time. The caller holds the lock.
func (b *Budget) isSlow(principal a2a.AccountingPrincipal) bool {
	until, wasStopped := b.slow[principal]
	return wasStopped && b.now().Before(until)
}

// waitPromptly counts a reservation that waits for room of to bytes until end is called, unless its account is slow or lacks a share.
func (b *Budget) waitPromptly(r *Reservation, to int64) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isSlow(r.account) || !b.hasShare(r, to) {
		return func() {}
	}
	b.prompt++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.prompt--
	}
}
