// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// TurnLimits bound the turns that run and the messages that wait for a turn.
type TurnLimits struct {
	// Max bounds all running turns. MaxPerCaller bounds the running turns of one
	// accounting principal.
	Max, MaxPerCaller int
	// MaxQueued bounds the waiting messages and QueueTimeout how long each waits. If either
	// is 0, no message waits: a message whose turn cannot start now is refused at once.
	MaxQueued    int
	QueueTimeout time.Duration
}

// turnQueue is the concurrency limiter of turns, with fair queueing: each accounting
// principal has a queue of its own. The namespaces of ServiceAccounts (a2a.AccountingPrincipal.Share) are served
// in rotation, and so are the queues of each namespace. Any other principal counts as a namespace of its own. A
// principal that sent a hundred messages delays the message of another principal by one turn, and a
// namespace of a hundred principals delays the message of another namespace by one turn.
//
// The engine takes no other lock while it holds mu.
//
// It also bounds the bytes that running turns cost: of all principals by maxBytes, and of one
// namespace by half of it, apart for large messages and for others. The bounds of the store do not cover these bytes: the memory store
// counts a message only once its task exists, and a shared store keeps its copies in another
// process, so the task that a turn continues counts, too. Turns with messages of more than limit.Small bytes leave a quarter
// to the others, so that they never delay smaller ones. Half of that quarter is also for the only such turn of a namespace if it costs at most a
// sixteenth of maxBytes, so that the large message of one caller does not refuse those of all others. A single turn may exceed a bound.
type turnQueue struct {
	limits   func() TurnLimits
	maxBytes int64

	mu      sync.Mutex
	running int
	// bytes is the sum of the costs of the running turns, and large the part of it for turns with
	// messages of more than limit.Small bytes.
	bytes, large int64
	accounts     map[a2a.AccountingPrincipal]*account
	shares       map[a2a.AccountingPrincipal]*share
	// spare is an unused account that the next principal reuses.
	spare *account
	// rotation has the shares with messages that wait in the order in which they are served.
	rotation []*share
	// queued is the sum of the lengths of the queues.
	queued int
	closed bool
}

// account is the entry of a principal that has running turns or waiting messages.
type account struct {
	principal a2a.AccountingPrincipal
	share     *share
	running   int
	queue     []*waiter
}

// share is what the accounts of one namespace use together.
type share struct {
	principal a2a.AccountingPrincipal
	// accounts counts them. The other fields are as in turnQueue.
	accounts, running, queued int
	bytes, large              int64
	// rotation has the accounts with a queue in the order in which they are served.
	rotation []*account
}

// waiter is a message that waits for a turn. done closes when its turn starts (granted is
// true) or the message is refused.
type waiter struct {
	done    chan struct{}
	granted bool
	// size is the size of the message.
	size int64
}

var (
	// errTurnLimit refuses a message because of Max, MaxPerCaller, the bytes of running
	// turns, or QueueTimeout.
	errTurnLimit = a2a.Busy("Too many turns are running, or their messages are too large together")
	// errQueueFull refuses a message because of MaxQueued.
	errQueueFull = a2a.Busy("Too many messages wait for a turn")
	// errQueueBytes refuses a message because of Options.WaitingBytes.
	errQueueBytes = a2a.Busy("The messages that wait for a turn are too large together")
)

func newTurnQueue(limits func() TurnLimits, maxBytes int64) *turnQueue {
	return &turnQueue{limits: limits, maxBytes: maxBytes, accounts: map[a2a.AccountingPrincipal]*account{}, shares: map[a2a.AccountingPrincipal]*share{}}
}

// tryStart counts a turn with a message of size bytes as running if the limits allow it and
// no message of the same principal waits. The caller later passes the same size to end, or to
// resize as the parameter old.
func (q *turnQueue) tryStart(by a2a.AccountingPrincipal, size int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.accountOf(by)
	if len(a.queue) > 0 || !q.mayRun(a, q.limits()) || !q.hasRoom(a, size) {
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

// resize changes the size of the message of a running turn from old to size bytes.
func (q *turnQueue) resize(by a2a.AccountingPrincipal, old, size int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.accountOf(by)
	q.count(a, -1, old)
	q.count(a, 1, size)
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
	a.share.running--
	q.count(a, -1, size)
	q.dropIfUnused(a)
	q.serve()
}

// wait queues a message until its turn counts as running. It returns errQueueFull if the
// queue is full, and the error of errShuttingDown if the queue is closed. It returns
// errTurnLimit if there is no queue, if the message is evicted, or if QueueTimeout or ctx
// ends first.
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
		return errShuttingDown()
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
	for len(q.rotation) > 0 {
		a := q.rotation[0].rotation[0]
		close(q.dequeue(a, 0).done)
		q.dropIfUnused(a)
	}
}

func (q *turnQueue) counts() (running, queued int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.queued
}

// enqueue adds a message to the queue of its principal. If MaxQueued messages wait already, it
// evicts the last message of the longest queue of the namespace with the most messages. It evicts none and returns
// errQueueFull if the namespace and the queue of the principal, with the new message, would be the longest.
// It returns errTurnLimit if MaxQueued or QueueTimeout is 0, and errShuttingDown after close.
func (q *turnQueue) enqueue(by a2a.AccountingPrincipal, size int64) (*waiter, TurnLimits, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	limits := q.limits()
	switch {
	case q.closed:
		return nil, limits, errShuttingDown()
	case limits.MaxQueued <= 0 || limits.QueueTimeout <= 0:
		return nil, limits, errTurnLimit
	}
	a := q.accountOf(by)
	if q.queued >= limits.MaxQueued && !q.evictFor(a) {
		q.dropIfUnused(a)
		return nil, limits, errQueueFull
	}
	w := &waiter{done: make(chan struct{}), size: size}
	if a.share.queued == 0 {
		q.rotation = append(q.rotation, a.share)
	}
	if len(a.queue) == 0 {
		a.share.rotation = append(a.share.rotation, a)
	}
	a.queue = append(a.queue, w)
	a.share.queued++
	q.queued++
	q.serve() // a turn may have ended since tryStart
	return w, limits, nil
}

// evictFor refuses the last message of the longest queue of the share with the most messages and returns true. If the share of
// account a would have as many with one more message, it considers the queues of this share only. It refuses none and
// returns false if the queue of account a, with one more message, would be at least as long as the longest of these.
func (q *turnQueue) evictFor(a *account) bool {
	of := slices.MaxFunc(q.rotation, func(x, y *share) int { return x.queued - y.queued })
	least := 0
	if of.queued <= a.share.queued+1 {
		of = a.share
		least = len(a.queue) + 1
	}
	longest := a
	for _, other := range of.rotation {
		if longest.share != of || len(other.queue) >= len(longest.queue) { // of equal ones, the last
			longest = other
		}
	}
	if len(longest.queue) <= least {
		return false
	}
	close(q.dequeue(longest, len(longest.queue)-1).done)
	return true
}

// dequeue removes a message from the queue of an account.
func (q *turnQueue) dequeue(a *account, at int) *waiter {
	w := a.queue[at]
	a.queue = slices.Delete(a.queue, at, at+1)
	a.share.queued--
	q.queued--
	if len(a.queue) == 0 {
		a.share.rotation = without(a.share.rotation, a)
	}
	if a.share.queued == 0 {
		q.rotation = without(q.rotation, a.share)
	}
	return w
}

// without returns a rotation without one of its elements.
func without[T comparable](rotation []T, element T) []T {
	return slices.DeleteFunc(rotation, func(other T) bool { return other == element })
}

// toEnd moves an element of a rotation to its end, if the rotation has it.
func toEnd[T comparable](rotation []T, element T) {
	if at := slices.Index(rotation, element); at >= 0 {
		copy(rotation[at:], rotation[at+1:])
		rotation[len(rotation)-1] = element
	}
}

// serve starts turns until the limits are reached. An account that was served goes
// to the end of its rotation, and so does its share (round robin). mu is held.
func (q *turnQueue) serve() {
	limits := q.limits()
	for at := 0; at < len(q.rotation) && q.running < limits.Max; {
		a, i := q.next(q.rotation[at], limits)
		if a == nil {
			at++
			continue
		}
		w := q.dequeue(a, i)
		toEnd(a.share.rotation, a)
		toEnd(q.rotation, a.share)
		q.charge(a, w.size)
		w.granted = true
		close(w.done)
	}
}

// next returns the first account of a share whose turn may start, and the index of its message in its queue, or nil. A
// message that needs more bytes than are free does not delay the messages behind it.
func (q *turnQueue) next(of *share, limits TurnLimits) (*account, int) {
	if !of.mayRun(limits) {
		return nil, 0
	}
	for _, a := range of.rotation {
		if !q.mayRun(a, limits) {
			continue
		}
		if i := slices.IndexFunc(a.queue, func(w *waiter) bool { return q.hasRoom(a, w.size) }); i >= 0 {
			return a, i
		}
	}
	return nil, 0
}

// remove takes a message out of its queue, unless it was evicted.
func (q *turnQueue) remove(by a2a.AccountingPrincipal, w *waiter) {
	a := q.accountOf(by)
	if at := slices.Index(a.queue, w); at >= 0 {
		q.dequeue(a, at)
	}
	q.dropIfUnused(a)
}

// mayRun reports whether the limits allow one more turn of account a.
func (q *turnQueue) mayRun(a *account, limits TurnLimits) bool {
	return q.running < limits.Max && a.running < limits.MaxPerCaller && a.share.mayRun(limits)
}

// mayRun reports whether a share leaves a quarter of Max to others with one more turn. A single principal may have MaxPerCaller all the same.
func (s *share) mayRun(limits TurnLimits) bool {
	return s.running < max(limits.MaxPerCaller, limits.Max-limits.Max/4)
}

// hasRoom reports whether the bounds of bytes allow a further message of size bytes of account
// a.
func (q *turnQueue) hasRoom(a *account, size int64) bool {
	bytes := memoryshare.TurnCost * size
	if !fits(q.bytes, bytes, q.maxBytes) {
		return false
	}
	if size > limit.Small {
		most := q.maxBytes / 4 * 3
		if a.share.large == 0 && bytes <= q.maxBytes/16 {
			most += q.maxBytes / 8
		}
		return fits(q.large, bytes, most) && fits(a.share.large, bytes, q.maxBytes/2)
	}
	return fits(a.share.bytes-a.share.large, bytes, q.maxBytes/2)
}

// fits reports whether a turn that costs bytes may run next to turns that cost used bytes in
// total. The first turn always fits.
func fits(used, bytes, limit int64) bool { return used == 0 || used+bytes <= limit }

func (q *turnQueue) charge(a *account, size int64) {
	q.running++
	a.running++
	a.share.running++
	q.count(a, 1, size)
}

// count adds a message of size bytes to the bytes of the share of account a and of all, or subtracts it if turns
// is -1.
func (q *turnQueue) count(a *account, turns, size int64) {
	bytes := turns * memoryshare.TurnCost * size
	q.bytes += bytes
	a.share.bytes += bytes
	if size > limit.Small {
		q.large += bytes
		a.share.large += bytes
	}
}

func (q *turnQueue) accountOf(by a2a.AccountingPrincipal) *account {
	if a := q.accounts[by]; a != nil {
		return a
	}
	a := q.spare
	q.spare = nil
	if a == nil {
		a = &account{}
	}
	a.principal = by
	q.accounts[by] = a
	of := by.Share()
	if known := q.shares[of]; known != nil {
		a.share = known
	} else if a.share == nil {
		a.share = &share{}
	}
	a.share.principal = of
	a.share.accounts++
	q.shares[of] = a.share
	return a
}

func (q *turnQueue) dropIfUnused(a *account) {
	if a.running == 0 && len(a.queue) == 0 {
		delete(q.accounts, a.principal)
		a.queue = nil
		q.spare = a
		a.share.accounts--
		if a.share.accounts == 0 {
			delete(q.shares, a.share.principal)
		} else {
			a.share = nil // others use it
		}
	}
}
