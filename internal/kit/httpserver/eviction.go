// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"cmp"
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
	// isLate is true once it has waited for as long.
	isLate bool
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

// makeRoom evicts other connections until a demand fits. If all others have running requests, or have sent what the server has not
// read, makeRoom waits for some.
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
		var spares bool
		victim, tookOldest, spares = t.takeAny(d, free < 0)
		if victim != nil {
			evicted = append(evicted, victim)
			continue
		}
		mayFit := !t.mayEnd() || d.least > 0 || free < 0 && used <= t.mostOfOne()
		if d.isLate || !spares && (t.isStuck || !mayFit) {
			return evicted, false
		}
		tookOldest = tookOldest && (free < 0 || !spares) // it has displaced no other
		if timeout == nil {
			timeout = time.After(d.waits)
		}
		closeAll(evicted)
		d.isLate = t.wait(d, timeout)
	}
	return evicted, false
}

// takeAny removes a connection to make room. It returns nil if there is none. isOldest and spares are as for takeWaiting. While the closed
// connections whose requests have not ended use the overdraft, takeAny returns nil: no other connection with a request may be closed
// then, and idle ones of others would go in its place.
func (t *table) takeAny(d demand, isFull bool) (victim *Conn, isOldest, spares bool) {
	if !t.mayEnd() && !t.isStuck {
		return nil, false, false
	}
	victim, isOldest, spares = t.takeWaiting(d)
	if victim == nil && t.options.Probes {
		victim = t.takeRunning(d.of.source, isFull)
	}
	return victim, isOldest, spares
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
// to send its next request, and stays while the server has not read what it has sent: a busy server is not a slow client. Of the same
// source, of one that has more than any may have, of those that have waited for oldTime, and once the demand is late, such connections
// are the last ones. takeWaiting returns nil if it may remove none, or if none has the least rank of the demand.
// isOldest is true if connections of all sources were candidates, and spares if some stay for what the server has not read.
func (t *table) takeWaiting(d demand) (victim *Conn, isOldest, spares bool) {
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
	t.order(now)
	next := t.waiting
	for len(next) > 0 && next[0].rank >= d.least {
		rank := next[0].rank
		n := 1
		for n < len(next) && next[n].rank == rank {
			n++
		}
		spares = isOldest && rank < oldRank && !d.isLate
		victim = t.takeFirst(next[:n], spares)
		if victim != nil {
			return victim, isOldest, spares
		}
		next = next[n:]
	}
	return nil, isOldest, spares
}

// takeFirst removes the first candidate whose client has sent nothing, and, if all have and it does not spare them, the first one.
// After maxSpared ones, it does not look whether the client has sent something, so that no number of such clients blocks the others.
func (t *table) takeFirst(all []candidate, spares bool) *Conn {
	for i, each := range all {
		if (i >= maxSpared || !each.of.hasSent()) && t.evict(each.of, each.answers) {
			return each.of
		}
	}
	if spares {
		return nil
	}
	for _, each := range all {
		if t.evict(each.of, true) {
			return each.of
		}
	}
	return nil
}

// hasSent reports whether the server is about to read what the client has sent. It is false if the server does not read from the
// client for another reason.
func (c *Conn) hasSent() bool {
	return c.busy.Load() == 0 && c.streamCost < manyBytes && c.evicted == nil && !c.halfClosed.Load() && !c.isQueued.Load() && hasUnread(c.raw)
}

// evict removes a connection, unless the server no longer waits for its client, or sends it a response although mayAnswer is false. The caller
// holds the lock.
func (t *table) evict(c *Conn, mayAnswer bool) bool {
	busy := c.busy.Load()
	switch {
	case c.isFlooding():
		c.busy.Add(closedForRoom)
	case !awaitsClient(busy), busy >= answering && !mayAnswer, !c.busy.CompareAndSwap(busy, busy+closedForRoom):
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
			t.waiting = append(t.waiting, candidate{of: c})
			c.source.waiting = 0
		}
	}
	for _, each := range t.waiting {
		each.of.source.waiting += each.of.cost
	}
}

// candidate is an examined connection, with what decides whether it is closed before others.
type candidate struct {
	of          *Conn
	rank, since int64
	// answers is true if the server sends a response.
	answers bool
}

// order sorts waiting: first those that are closed first. Of one rank, those that send responses are the last ones.
func (t *table) order(now int64) {
	for i := range t.waiting {
		each := &t.waiting[i]
		each.rank = t.rank(each.of, now)
		each.since = each.of.since.Load()
		each.answers = each.of.busy.Load() >= answering
	}
	slices.SortFunc(t.waiting, func(a, b candidate) int {
		switch {
		case a.rank != b.rank:
			return cmp.Compare(b.rank, a.rank)
		case a.answers != b.answers:
			if a.answers {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.since, b.since)
	})
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
