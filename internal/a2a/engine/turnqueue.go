// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TurnLimits bound the turns that run and the messages that wait for a turn.
type TurnLimits struct {
	// Max bounds all running turns. MaxPerPrincipal bounds the running turns of one
	// accounting principal.
	Max, MaxPerPrincipal int
	// MaxQueued bounds the waiting messages and QueueTimeout how long each waits. If
	// either is 0, a message that exceeds Max or MaxPerPrincipal is refused at once.
	MaxQueued    int
	QueueTimeout time.Duration
}

// The bounds of the messages of running turns, in bytes, of all principals and of one. No
// store counts these messages: the store in memory counts a message when its task exists, and
// a shared store holds it elsewhere. A single message may be larger than a bound.
const (
	maxTurnBytes             = 256 << 20
	maxTurnBytesPerPrincipal = maxTurnBytes / 2
)

// turnQueue is the concurrency limiter of turns, with fair queueing: each accounting
// principal has a queue of its own, and the queues are served in rotation. A
// principal that sent a hundred messages delays the message of another principal by
// one turn.
//
// The engine takes no other lock while it holds mu.
type turnQueue struct {
	limits func() TurnLimits

	mu      sync.Mutex
	running int
	// bytes is the total size of the messages of the running turns.
	bytes    int64
	accounts map[a2a.AccountingPrincipal]*account
	// spare is an unused account that the next principal reuses.
	spare *account
	// rotation has the accounts with a queue in the order in which they are served.
	rotation []*account
	// queued is the sum of the lengths of the queues.
	queued int
	closed bool
}

// account is the entry of a principal that has running turns or waiting messages.
type account struct {
	principal a2a.AccountingPrincipal
	running   int
	// bytes is the total size of the messages of the running turns.
	bytes int64
	queue []*waiter
}

// waiter is a message that waits for a turn. done closes when its turn starts (granted is
// true) or the message is refused.
type waiter struct {
	done    chan struct{}
	granted bool
	// size is the size of the message, in bytes.
	size int64
}

var (
	// errTurnLimit refuses a message because of Max, MaxPerPrincipal, the bytes of running
	// turns, or QueueTimeout.
	errTurnLimit = a2a.Busy("Too many turns are running")
	// errQueueFull refuses a message because of MaxQueued.
	errQueueFull = a2a.Busy("Too many messages wait for a turn")
)

func newTurnQueue(limits func() TurnLimits) *turnQueue {
	return &turnQueue{limits: limits, accounts: map[a2a.AccountingPrincipal]*account{}}
}

// tryStart counts a turn with a message of size bytes as running if the limits allow it and
// no message of the same principal waits.
func (q *turnQueue) tryStart(by a2a.AccountingPrincipal, size int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.accountOf(by)
	if len(a.queue) > 0 || !q.hasRoom(a, size) {
		q.dropIfUnused(a)
		return false
	}
	q.charge(a, size)
	return true
}

// start counts a turn as running even beyond the limits, for a turn that has to
// start.
func (q *turnQueue) start(by a2a.AccountingPrincipal, size int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.charge(q.accountOf(by), size)
}

// resize changes the size of the message of a running turn by a number of bytes.
func (q *turnQueue) resize(by a2a.AccountingPrincipal, change int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes += change
	q.accountOf(by).bytes += change
	q.serve()
}

// end counts a turn as ended and starts turns of waiting messages.
func (q *turnQueue) end(by a2a.AccountingPrincipal, size int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endLocked(by, size)
}

func (q *turnQueue) endLocked(by a2a.AccountingPrincipal, size int64) {
	a := q.accountOf(by)
	q.running--
	a.running--
	q.bytes -= size
	a.bytes -= size
	q.dropIfUnused(a)
	q.serve()
}

// wait queues a message until its turn counts as running. It returns an *a2a.Error
// if the queue is full, QueueTimeout or ctx ends, or the queue is closed.
func (q *turnQueue) wait(ctx context.Context, by a2a.AccountingPrincipal, size int64) error {
	w, limits, err := q.enqueue(by, size)
	if err != nil {
		return err
	}
	timeout := time.NewTimer(limits.QueueTimeout)
	defer timeout.Stop()
	select {
	case <-w.done:
	case <-timeout.C:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed && !w.granted:
		return errUnavailable()
	case w.granted && ctx.Err() == nil:
		return nil
	case w.granted:
		q.endLocked(by, size) // the client disconnected
	default:
		q.remove(by, w)
	}
	return errTurnLimit
}

// limitsChanged starts the turns of messages for which the new limits have room.
func (q *turnQueue) limitsChanged() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serve()
}

// close refuses the messages that wait and all later ones.
func (q *turnQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, a := range q.rotation {
		for _, w := range a.queue {
			close(w.done)
		}
		a.queue = nil
		q.dropIfUnused(a)
	}
	q.rotation, q.queued = nil, 0
}

func (q *turnQueue) counts() (running, queued int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.queued
}

// enqueue adds a message to the queue of its principal. If MaxQueued is reached, it
// evicts the last message of the longest queue, or returns errQueueFull if that is
// the queue of the new message.
func (q *turnQueue) enqueue(by a2a.AccountingPrincipal, size int64) (*waiter, TurnLimits, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	limits := q.limits()
	switch {
	case q.closed:
		return nil, limits, errUnavailable()
	case limits.MaxQueued <= 0 || limits.QueueTimeout <= 0:
		return nil, limits, errTurnLimit
	}
	a := q.accountOf(by)
	if q.queued >= limits.MaxQueued && !q.evictFor(a) {
		q.dropIfUnused(a)
		return nil, limits, errQueueFull
	}
	w := &waiter{done: make(chan struct{}), size: size}
	if len(a.queue) == 0 {
		q.rotation = append(q.rotation, a)
	}
	a.queue = append(a.queue, w)
	q.queued++
	q.serve() // a turn may have ended since tryStart
	return w, limits, nil
}

// evictFor refuses the last message of the longest queue and returns true. It returns
// false if the queue of a with one more message would be as long.
func (q *turnQueue) evictFor(a *account) bool {
	longest := a
	for _, other := range q.rotation {
		if len(other.queue) > len(longest.queue) {
			longest = other
		}
	}
	if len(longest.queue) <= len(a.queue)+1 {
		return false
	}
	last := len(longest.queue) - 1
	close(longest.queue[last].done)
	longest.queue = longest.queue[:last]
	q.queued--
	return true
}

// serve starts turns until the limits are reached. An account that was served goes
// to the end of the rotation.
func (q *turnQueue) serve() {
	for at := 0; at < len(q.rotation); {
		a := q.rotation[at]
		if !q.hasRoom(a, a.queue[0].size) {
			if q.running >= q.limits().Max {
				return
			}
			at++
			continue
		}
		first := a.queue[0]
		a.queue = a.queue[1:]
		q.queued--
		q.rotation = slices.Delete(q.rotation, at, at+1)
		if len(a.queue) > 0 {
			q.rotation = append(q.rotation, a)
		}
		q.charge(a, first.size)
		first.granted = true
		close(first.done)
	}
}

// remove takes a message out of its queue, unless it was evicted.
func (q *turnQueue) remove(by a2a.AccountingPrincipal, w *waiter) {
	a := q.accountOf(by)
	if at := slices.Index(a.queue, w); at >= 0 {
		a.queue = slices.Delete(a.queue, at, at+1)
		q.queued--
		if len(a.queue) == 0 {
			q.rotation = slices.DeleteFunc(q.rotation, func(other *account) bool { return other == a })
		}
	}
	q.dropIfUnused(a)
}

func (q *turnQueue) hasRoom(a *account, size int64) bool {
	limits := q.limits()
	return q.running < limits.Max && a.running < limits.MaxPerPrincipal &&
		fits(q.bytes, size, maxTurnBytes) && fits(a.bytes, size, maxTurnBytesPerPrincipal)
}

// fits reports whether a message may be added to messages of used bytes.
func fits(used, size, limit int64) bool { return used == 0 || used+size <= limit }

func (q *turnQueue) charge(a *account, size int64) {
	q.running++
	a.running++
	q.bytes += size
	a.bytes += size
}

func (q *turnQueue) accountOf(by a2a.AccountingPrincipal) *account {
	a := q.accounts[by]
	if a == nil {
		if a, q.spare = q.spare, nil; a == nil {
			a = &account{}
		}
		a.principal = by
		q.accounts[by] = a
	}
	return a
}

func (q *turnQueue) dropIfUnused(a *account) {
	if a.running == 0 && len(a.queue) == 0 {
		delete(q.accounts, a.principal)
		a.queue = nil
		q.spare = a
	}
}
