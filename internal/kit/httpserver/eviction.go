// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"container/list"
	"net/netip"
	"slices"
	"time"
)

// demand is what a connection needs.
type demand struct {
	of    *Conn
	bytes int64
	// free is what must be free, and least the least rank of the connections that may be closed for it.
	free, least int64
	// waits bounds the wait for room.
	waits time.Duration
}

// newDemand returns the demand of a connection whose streams beside others then use streams. With many streams, it leaves room for
// twice as many, and displaces only connections for whose clients the server has waited for oldTime.
func newDemand(c *Conn, bytes, streams int64) demand {
	d := demand{of: c, bytes: bytes, free: bytes, waits: endTimeout}
	if streams > manyBytes {
		d.free += 2 * streams
		d.least = oldRank
		if c.busy.Load()%answering > 0 {
			d.waits = workTimeout
		}
	}
	return d
}

// makeRoom evicts other connections until a demand fits. If all others have running requests, makeRoom waits for the end of some.
// room is false if the demand does not fit. The caller holds the lock, which makeRoom releases while it waits, and closes the
// evicted connections afterwards.
func (t *table) makeRoom(d demand) (evicted []*Conn, room bool) {
	var timeout <-chan time.Time
	tookOldest := false
	for !d.of.isClosed.Load() {
		free := t.free() - d.free
		used := d.of.source.used + d.bytes
		if free >= 0 && (tookOldest || used <= max(ownShare*free, t.maxUsed/sureShare)) {
			return evicted, true
		}
		var victim *Conn
		victim, tookOldest = t.takeAny(d, free < 0)
		if victim != nil {
			evicted = append(evicted, victim)
			continue
		}
		mayFit := !t.mayEnd() || d.least > 0 || free < 0 && used <= t.mostOfOne()
		if t.isStuck || !mayFit {
			return evicted, false
		}
		if timeout == nil {
			timeout = time.After(d.waits)
		}
		closeAll(evicted)
		if isLate := t.wait(d, timeout); isLate {
			return evicted, false
		}
	}
	return evicted, false
}

// takeAny removes a connection to make room. It returns nil if there is none. isOldest is as for takeWaiting. While the closed
// connections whose requests have not ended use the overdraft, takeAny returns nil: no other connection with a request may be closed
// then, and idle ones of others would go in its place.
func (t *table) takeAny(d demand, isFull bool) (victim *Conn, isOldest bool) {
	if !t.mayEnd() && !t.isStuck {
		return nil, false
	}
	victim, isOldest = t.takeWaiting(d)
	if victim == nil && t.options.Probes {
		victim = t.takeRunning(d.of.source, isFull)
	}
	return victim, isOldest
}

// mostOfOne returns what one source address may use if it is the only one.
func (t *table) mostOfOne() int64 { return t.maxUsed / (ownShare + 1) * ownShare }

// wait waits until the connection is evicted, for at most freshTime, and without many streams also for a change after which there
// may be room. It returns true after the timeout. The caller holds the lock, which wait releases meanwhile.
func (t *table) wait(d demand, timeout <-chan time.Time) (isLate bool) {
	evicted := make(chan struct{})
	d.of.evicted = evicted
	var changed chan struct{}
	if d.least == 0 {
		changed = t.changed
		t.waiters.Add(1)
		defer t.waiters.Add(-1)
	}
	t.mu.Unlock()
	again := time.NewTimer(freshTime)
	defer again.Stop()
	select {
	case <-timeout:
		isLate = true
	case <-evicted:
	case <-changed:
	case <-again.C:
	}
	t.mu.Lock()
	d.of.evicted = nil
	t.isStuck = t.isStuck || isLate && d.least == 0
	return isLate
}

// wake ends all waits. The caller holds the lock.
func (t *table) wake() {
	t.isStuck = false
	if t.waiters.Load() > 0 {
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// mayEnd reports whether a connection with running requests may be closed. The caller holds the lock.
func (t *table) mayEnd() bool { return t.ending < t.maxUsed/overdraft }

// takeWaiting removes the other connection with the highest rank, and of these the one for whose client the server has waited for
// the longest time. A client that sends its requests soon keeps its connection beside any number of others. The removed one is of the
// same source if more than enough is free, or if that source uses what one source may use. A client of another source has freshTime
// to send its next request. It spares connections as evict does, as far as possible.
// takeWaiting returns nil if no examined connection has the least rank of the demand. isOldest is true if connections of all sources
// were candidates.
func (t *table) takeWaiting(d demand) (victim *Conn, isOldest bool) {
	from := d.of.source
	now := int64(time.Since(t.began))
	isOldest = t.free()-d.free < t.maxUsed/fullShare && from.used+d.bytes <= t.mostOfOne()
	if isOldest {
		t.examine(&t.conns, (*Conn).tableElement, d.of, func(other *Conn) bool {
			return other.source == from || other.streamCost >= manyBytes || now-other.since.Load() >= int64(freshTime)
		})
	} else {
		t.examine(&from.conns, (*Conn).sourceElement, d.of, nil)
	}
	defer clear(t.waiting)
	for len(t.waiting) > 0 {
		next := t.oldest(now)
		if t.rank(next[0], now) < d.least {
			break
		}
		for _, spares := range []bool{true, false} {
			for _, other := range next {
				if t.evict(other, spares) {
					return other, isOldest
				}
			}
		}
	}
	return nil, isOldest
}

// evict removes a connection, unless the server no longer waits for its client. With spares, a connection stays also if the
// server sends a response, or is about to read what the client has sent. The caller holds the lock.
func (t *table) evict(c *Conn, spares bool) bool {
	busy := c.busy.Load()
	if spares && (busy >= answering || c.running.Load() == 0 && c.evicted == nil && hasUnread(c.raw)) {
		return false
	}
	if c.isFlooding() {
		c.busy.Add(closedForRoom)
	} else if !awaitsClient(busy) || !c.busy.CompareAndSwap(busy, busy+closedForRoom) {
		return false
	}
	t.metrics.idle.Inc()
	t.remove(c)
	return true
}

// isFlooding reports whether a connection waits for room for one more of many streams before the handler of any has begun. It may
// be closed although some of the requests have arrived in whole. The caller holds the lock of the table.
func (c *Conn) isFlooding() bool {
	return c.evicted != nil && c.streamCost >= manyBytes && c.running.Load() == 0
}

// examine fills waiting with connections of a list, except for one, for whose clients the server waits. isCandidate may exclude
// others.
func (t *table) examine(conns *list.List, element func(*Conn) *list.Element, except *Conn, isCandidate func(*Conn) bool) {
	t.waiting = t.waiting[:0]
	for range min(conns.Len(), maxScanned) {
		c := conns.Front().Value.(*Conn) // the list has nothing else
		conns.MoveToBack(element(c))
		givesRoom := c.running.Load() == 0 || t.mayEnd()
		if c != except && (awaitsClient(c.busy.Load()) || c.isFlooding()) && givesRoom && (isCandidate == nil || isCandidate(c)) {
			t.waiting = append(t.waiting, c)
			c.source.waiting = 0
		}
	}
	for _, c := range t.waiting {
		c.source.waiting += c.cost
	}
}

// oldest removes the first connections from waiting, at most maxSpared, which all have one rank.
func (t *table) oldest(now int64) (found []*Conn) {
	for len(found) < maxSpared && len(t.waiting) > 0 {
		first := 0
		for i, c := range t.waiting {
			if t.isBefore(c, t.waiting[first], now) {
				first = i
			}
		}
		c := t.waiting[first]
		if len(found) > 0 && t.rank(c, now) != t.rank(found[0], now) {
			break
		}
		found = append(found, c)
		t.waiting = slices.Delete(t.waiting, first, first+1)
	}
	return found
}

// isBefore reports whether a is closed before b. Of one rank, those that send responses are the last ones.
func (t *table) isBefore(a, b *Conn, now int64) bool {
	if first, second := t.rank(a, now), t.rank(b, now); first != second {
		return first > second
	}
	if answers := a.busy.Load() >= answering; answers != (b.busy.Load() >= answering) {
		return !answers
	}
	return a.since.Load() < b.since.Load()
}

// rank returns the rank of an examined connection. The highest have those of sources that have more of the examined connections
// than any source may have, then those for whose clients the server has waited for oldTime, and then those with the most streams.
// An attack does not leave connections for as long. Without one, a client may send many requests at a time slowly.
func (t *table) rank(c *Conn, now int64) int64 {
	rank := min(c.streamCost/manyBytes, oldRank-1)
	if now-c.since.Load() >= int64(oldTime) {
		rank = oldRank
	}
	if t.isLarge(c.source) {
		rank += largeRank
	}
	return rank
}

const (
	oldRank   = 1 << 20
	largeRank = 2 * oldRank
)

// isLarge reports whether a source has more of the examined connections than any source may have.
func (t *table) isLarge(s *source) bool { return s.waiting > t.maxUsed/sureShare }

// takeRunning removes a connection with a running request: any if the table is full, and otherwise one of
// from. It returns nil if there is none.
func (t *table) takeRunning(from *source, isFull bool) *Conn {
	candidates := map[netip.Addr]*source{from.address: from}
	if isFull {
		candidates = t.sources
	}
	c := oldestRunning(candidates)
	if c != nil {
		c.busy.Add(closedForRoom)
		t.metrics.running.Inc()
		t.remove(c)
	}
	return c
}

// oldestRunning returns the oldest connection of the source with the largest use among those that
// have one which running returns.
func oldestRunning(sources map[netip.Addr]*source) *Conn {
	var best *Conn
	for _, s := range sources {
		if best != nil && s.used < best.source.used {
			continue
		}
		c := s.running()
		if c != nil && (best == nil || s.used > best.source.used || c.number < best.number) {
			best = c
		}
	}
	return best
}

// running returns the oldest connection of a source that is not a loopback address.
func (s *source) running() (first *Conn) {
	if s.address.IsLoopback() {
		return nil
	}
	for element := s.conns.Front(); element != nil; element = element.Next() {
		if c := element.Value.(*Conn); first == nil || c.number < first.number {
			first = c
		}
	}
	return first
}
