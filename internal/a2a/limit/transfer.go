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

// A transfer is overdue after mostPatience, or earlier if it was slower than leastRate, in bytes a second, for patience. For slowFor after a
// transfer of a principal was stopped, others that wait come before it, and its transfers have littlePatience.
const (
	leastRate      = 128 << 10
	patience       = 500 * time.Millisecond
	littlePatience = 100 * time.Millisecond
	mostPatience   = 5 * time.Second
	slowFor        = 10 * time.Second
)

// checkInterval is the time between two checks for an overdue transfer while a request waits.
const checkInterval = 100 * time.Millisecond

// Transfer is a body or an answer whose memory a large reservation holds until the other side has sent or read it. A budget ends it if it is
// overdue and others wait for memory. It is safe for concurrent use.
type Transfer struct {
	now       func() time.Time
	began     time.Time
	principal a2a.AccountingPrincipal
	patience  time.Duration
	stop      func()
	bytes     atomic.Int64

	mu      sync.Mutex
	stopped bool
}

// Moved counts bytes that have been sent or read.
func (t *Transfer) Moved(n int) { t.bytes.Add(int64(n)) }

func (t *Transfer) isOverdue() bool {
	passed := t.now().Sub(t.began)
	return passed > mostPatience || passed > t.patience && float64(t.bytes.Load()) < passed.Seconds()*leastRate
}

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
// end has returned. The holder calls end before it releases the reservation. stop must not block, or use the budget. For a small
// reservation, Watch returns nil.
func (b *Budget) Watch(r *Reservation, now func() time.Time, stop func()) (t *Transfer, end func()) {
	if r.class != classLarge {
		return nil, func() {}
	}
	t = &Transfer{now: now, began: now(), principal: r.account, patience: patience, stop: stop}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
	if b.isSlow(r.account) {
		t.patience = littlePatience
	}
	b.transfers[t] = struct{}{}
	return t, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.transfers, t)
	}
}

// takeBack stops an overdue transfer of another principal, if there is one.
func (b *Budget) takeBack(principal a2a.AccountingPrincipal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.transfers {
		if t.principal != principal && t.isOverdue() {
			delete(b.transfers, t)
			t.mu.Lock()
			t.stopped = true
			t.stop()
			t.mu.Unlock()
			now := b.now()
			maps.DeleteFunc(b.slow, func(_ a2a.AccountingPrincipal, until time.Time) bool { return now.After(until) })
			b.slow[t.principal] = now.Add(slowFor)
			return
		}
	}
}

// isSlow reports whether a transfer of a principal was stopped in the last time. The caller holds the lock.
func (b *Budget) isSlow(principal a2a.AccountingPrincipal) bool {
	until, wasStopped := b.slow[principal]
	return wasStopped && b.now().Before(until)
}

// waitPromptly counts a request that waits for a large reservation, unless its principal is slow, until end is called.
func (b *Budget) waitPromptly(principal a2a.AccountingPrincipal) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isSlow(principal) {
		return func() {}
	}
	b.prompt++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.prompt--
	}
}
