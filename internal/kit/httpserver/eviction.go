// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"container/list"
	"net/netip"
	"slices"
	"time"
)

// makeRoom evicts connections until bytes for a source fit. The caller holds the lock, and
// closes the evicted connections afterwards. room is false if bytes do not fit.
func (t *table) makeRoom(from *source, bytes int64) (evicted []*Conn, room bool) {
	tookOldest := false
	for {
		free := t.free() - bytes
		if free >= 0 && (tookOldest || from.used+bytes <= max(ownShare*free, t.maxUsed/sureShare)) {
			return evicted, true
		}
		if t.awaitEnds(evicted) {
			continue
		}
		var victim *Conn
		victim, tookOldest = t.takeWaiting(from, bytes)
		if victim == nil && t.options.Probes {
			victim = t.takeRunning(from, free < 0)
		}
		if victim == nil {
			return evicted, false
		}
		evicted = append(evicted, victim)
	}
}

// awaitEnds waits while the closed connections whose requests have not ended yet use the overdraft. No other connection with a
// request can be closed then: idle ones of others would be closed in its place, or a new one refused. The requests end soon,
// because all of them wait for their clients. The caller holds the lock, which awaitEnds releases while it waits, and has evicted
// connections, which awaitEnds closes. It returns true if it has waited.
func (t *table) awaitEnds(evicted []*Conn) bool {
	if t.mayEnd() || t.isStuck {
		return false
	}
	closeAll(evicted)
	timeout := time.NewTimer(endTimeout)
	defer timeout.Stop()
	for !t.mayEnd() && !t.isStuck {
		ended := t.ended
		t.mu.Unlock()
		isLate := false
		select {
		case <-ended:
		case <-timeout.C:
			isLate = true
		}
		t.mu.Lock()
		t.isStuck = t.isStuck || isLate
	}
	return true
}

// mayEnd reports whether a connection with running requests may be closed. The caller holds the lock.
func (t *table) mayEnd() bool { return t.ending < t.maxUsed/overdraft }

// takeWaiting removes the connection for whose client the server has waited for the longest time, so that a client
// that sends its requests soon keeps its connection beside any number of others, whatever their sources are. It is
// one of from if more than enough is free, or if from uses what one source may use. A client of a source that uses less than
// from has freshTime to send its next request. takeWaiting returns nil if there is none. isOldest is true if connections of all
// sources were candidates.
func (t *table) takeWaiting(from *source, bytes int64) (c *Conn, isOldest bool) {
	if t.free()-bytes < t.maxUsed/fullShare && from.used+bytes <= t.maxUsed/(ownShare+1)*ownShare {
		now := int64(time.Since(t.began))
		return t.takeOldest(&t.conns, (*Conn).tableElement, func(c *Conn) bool {
			return c.source == from || c.source.used >= from.used+bytes || now-c.since.Load() >= int64(freshTime)
		}), true
	}
	return t.takeOldest(&from.conns, (*Conn).sourceElement, nil), false
}

// takeOldest removes the connection of a list for whose client the server has waited for the longest time. Those of sources
// that have more of them than any source may have go first. A connection without a request is spared if its client has sent
// one, which the server is about to read. isCandidate may exclude connections. takeOldest returns nil if there is none
// among those that it examines.
func (t *table) takeOldest(conns *list.List, element func(*Conn) *list.Element, isCandidate func(*Conn) bool) *Conn {
	t.examine(conns, element, isCandidate)
	defer clear(t.waiting)
	for len(t.waiting) > 0 {
		next := t.oldest()
		for _, spares := range []bool{true, false} {
			for _, c := range next {
				isSpared := spares && c.running.Load() == 0 && hasUnread(c.raw)
				if !isSpared && t.evict(c) {
					return c
				}
			}
		}
	}
	return nil
}

// evict removes a connection, unless the server no longer waits for its client.
func (t *table) evict(c *Conn) bool {
	if !c.busy.CompareAndSwap(0, closedForRoom) {
		return false
	}
	t.metrics.idle.Inc()
	t.remove(c)
	return true
}

// examine fills waiting with connections of a list for whose clients the server waits.
func (t *table) examine(conns *list.List, element func(*Conn) *list.Element, isCandidate func(*Conn) bool) {
	t.waiting = t.waiting[:0]
	for range min(conns.Len(), maxScanned) {
		c := conns.Front().Value.(*Conn) // the list has nothing else
		conns.MoveToBack(element(c))
		givesRoom := c.running.Load() == 0 || t.mayEnd()
		if c.busy.Load() == 0 && givesRoom && (isCandidate == nil || isCandidate(c)) {
			t.waiting = append(t.waiting, c)
			c.source.waiting = 0
		}
	}
	for _, c := range t.waiting {
		c.source.waiting += c.cost
	}
}

// oldest removes the first connections from waiting, at most maxSpared, which are all large or all not.
func (t *table) oldest() (found []*Conn) {
	for len(found) < maxSpared && len(t.waiting) > 0 {
		first := 0
		for i, c := range t.waiting {
			if t.isBefore(c, t.waiting[first]) {
				first = i
			}
		}
		c := t.waiting[first]
		if len(found) > 0 && t.isLarge(c) != t.isLarge(found[0]) {
			break
		}
		found = append(found, c)
		t.waiting = slices.Delete(t.waiting, first, first+1)
	}
	return found
}

// isBefore reports whether a is closed before b.
func (t *table) isBefore(a, b *Conn) bool {
	if isLarge := t.isLarge(a); isLarge != t.isLarge(b) {
		return isLarge
	}
	return a.since.Load() < b.since.Load()
}

// isLarge reports whether the source of an examined connection has more of them than any source may have.
func (t *table) isLarge(c *Conn) bool { return c.source.waiting > t.maxUsed/sureShare }

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
