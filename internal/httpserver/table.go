// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// What a connection costs, in bytes of the heap and of stacks. TestWorstBytes measures them.
const (
	// connBytes is the cost of a connection that is idle or has a running request, and tlsBytes the
	// additional cost of TLS.
	connBytes = 48 << 10
	tlsBytes  = 24 << 10
	// headBytes is the additional cost of a header of up to 8 KiB that is being read. net/http parses it line by line, and a
	// field of 6 bytes costs 110.
	headBytes = 256 << 10
	// streamBytes is the cost of a request beside other requests of the same connection.
	streamBytes = 32 << 10
	// parkedBytes is the cost of a connection that is not served by net/http.
	parkedBytes = 24 << 10
	// headerCopies is how often a header is in memory while it is read.
	headerCopies = 2
	// headShare is the divisor of Options.Memory that gives the part for headers that are being read.
	headShare = 4
)

const (
	// ownShare bounds what a source address may use: ownShare times what remains free. One
	// address uses at most three quarters of a listener, and two addresses three sevenths each.
	ownShare = 3
	// maxScanned is how many connections of a source are examined at a time. The next examination
	// continues with the others.
	maxScanned = 256
	// minHeads is the minimum of maxHeads.
	minHeads = 8
	// maxRaces is how often another connection is chosen because the first one got a request.
	maxRaces = 4
	// maxHandshakes is how many TLS handshakes of one source run at a time. The others wait.
	maxHandshakes = 16
)

// table is the table of the connections of a listener. Its methods are safe for concurrent use.
type table struct {
	options *Options
	metrics listenerMetrics
	cost    int64
	began   time.Time
	// refused is the time of the last refusal of a connection because all have running requests,
	// since began in nanoseconds, 0 if there was none.
	refused atomic.Int64
	// heads is the number of connections in the header of a request.
	heads             atomic.Int64
	maxUsed, maxHeads int64

	mu      sync.Mutex
	used    int64
	sources map[netip.Addr]*source
	// accepted is the number of connections that were admitted so far.
	accepted uint64
}

// source is a source address that has connections. table.mu guards it.
type source struct {
	address netip.Addr
	used    int64
	// conns has the connections, those first that are closed first.
	conns list.List
	// handshakes has a slot for each TLS handshake of the source.
	handshakes chan struct{}
}

func newTable(o *Options) *table {
	t := &table{
		options: o, cost: connBytes + headerCopies*int64(max(0, o.HeaderBytes-maxHeaderBytes)),
		began: time.Now(), sources: map[netip.Addr]*source{}, metrics: newListenerMetrics(o.Name), //nolint:forbidigo // only differences of times of the machine are used
	}
	if o.TLS != nil {
		t.cost += tlsBytes
	}
	t.maxHeads = max(minHeads, o.Memory/headShare*maxHeaderBytes/(headBytes*int64(o.HeaderBytes)))
	t.maxUsed = o.Memory - o.Memory/headShare
	return t
}

// sourceOf returns the address as which the table counts a client: an IPv4 address, a private IPv6
// address (pods), or the /64 of a public IPv6 address, because one client has all addresses of its /64.
func sourceOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if address.Is4() || address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
		return address
	}
	prefix, _ := address.Prefix(64) // no error: the address has 128 bits
	return prefix.Addr()
}

// add adds a connection. It closes others to make room. It returns false if there is none.
func (t *table) add(c *Conn) bool {
	address := sourceOf(c.RemoteAddr())
	t.mu.Lock()
	from := t.sources[address]
	if from == nil {
		from = &source{address: address}
		if t.options.TLS != nil {
			from.handshakes = make(chan struct{}, maxHandshakes)
		}
		t.sources[address] = from
	}
	evicted, room := t.makeRoom(from, t.cost)
	if room {
		t.accepted++
		c.number, c.source, c.cost = t.accepted, from, t.cost
		c.element = from.conns.PushBack(c)
		t.use(from, t.cost)
		t.metrics.open.Inc()
	}
	t.forgetIfEmpty(from)
	t.mu.Unlock()
	closeAll(evicted)
	return room
}

// use changes what a source uses. The caller holds the lock.
func (t *table) use(s *source, bytes int64) {
	t.used += bytes
	s.used += bytes
}

func (t *table) forgetIfEmpty(s *source) {
	if s.conns.Len() == 0 {
		delete(t.sources, s.address)
	}
}

// makeRoom evicts connections until bytes for a source fit. The caller holds the lock, and
// closes the evicted connections afterwards. room is false if bytes do not fit.
func (t *table) makeRoom(from *source, bytes int64) (evicted []*Conn, room bool) {
	for {
		free := t.maxUsed - t.used
		isFull := bytes > free
		if !isFull && from.used+bytes <= ownShare*free {
			return evicted, true
		}
		victim := t.evict(from, isFull)
		if victim == nil {
			t.noteRefusal(isFull)
			return evicted, false
		}
		evicted = append(evicted, victim)
	}
}

func (t *table) noteRefusal(isFull bool) {
	if !isFull {
		t.metrics.source.Inc()
		return
	}
	t.metrics.full.Inc()
	t.refused.Store(max(1, int64(time.Since(t.began))))
}

// evict removes a connection to make room: of the source with the largest use if the table is
// full, and otherwise of from. It returns nil if there is none that may be closed.
func (t *table) evict(from *source, isFull bool) *Conn {
	candidates := map[netip.Addr]*source{from.address: from}
	if isFull {
		candidates = t.sources
	}
	if c := t.take(candidates, (*source).idle); c != nil || !t.options.Probes {
		return c
	}
	c := oldest(candidates, (*source).running)
	if c != nil {
		t.metrics.running.Inc()
		t.remove(c)
	}
	return c
}

// take removes a candidate that has no running request. It returns nil if there is none.
func (t *table) take(sources map[netip.Addr]*source, candidate func(*source) *Conn) *Conn {
	for range maxRaces {
		c := oldest(sources, candidate)
		if c == nil {
			return nil
		}
		if c.running.CompareAndSwap(0, closedForRoom) {
			t.metrics.idle.Inc()
			t.remove(c)
			return c
		}
	}
	return nil
}

// beginHead counts a connection in the header of a request. If there are too many, it closes one, of the
// source with the largest use among those that have one.
func (t *table) beginHead() {
	if t.heads.Add(1) <= t.maxHeads {
		return
	}
	t.mu.Lock()
	c := t.take(t.sources, (*source).inHead)
	t.mu.Unlock()
	if c != nil {
		closeAll([]*Conn{c})
	}
}

// oldest returns the candidate of the source with the largest use among those that have one, and of
// several such sources the oldest candidate.
func oldest(sources map[netip.Addr]*source, candidate func(*source) *Conn) *Conn {
	var best *Conn
	for _, s := range sources {
		if best != nil && s.used < best.source.used {
			continue
		}
		c := candidate(s)
		if c != nil && (best == nil || s.used > best.source.used || c.number < best.number) {
			best = c
		}
	}
	return best
}

// idle returns the first connection of a source that has no running request, nil if it finds none.
// Connections that have one, or had one since the last look, move to the end (second chance).
func (s *source) idle() *Conn {
	for range min(2*s.conns.Len(), maxScanned) {
		element := s.conns.Front()
		c := element.Value.(*Conn) // the list has nothing else
		if c.running.Load() == 0 && !c.recent.Swap(false) {
			return c
		}
		s.conns.MoveToBack(element)
	}
	return nil
}

// inHead returns the first connection of a source that is in the header of a request, nil if it finds none.
func (s *source) inHead() *Conn {
	for range min(s.conns.Len(), maxScanned) {
		element := s.conns.Front()
		if c := element.Value.(*Conn); c.isInHead.Load() { // the list has nothing else
			return c
		}
		s.conns.MoveToBack(element)
	}
	return nil
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

// remove removes a connection. The caller holds the lock.
func (t *table) remove(c *Conn) {
	c.source.conns.Remove(c.element)
	t.use(c.source, -c.cost)
	c.element = nil
	c.endHead()
	t.forgetIfEmpty(c.source)
	t.metrics.open.Dec()
}

// release removes a connection that is closed, if it is still there.
func (t *table) release(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.element != nil {
		t.remove(c)
	}
}

// charge adds bytes to what a connection uses. It returns false if there is no room.
func (t *table) charge(c *Conn, bytes int64) bool {
	t.mu.Lock()
	var evicted []*Conn
	room := c.element != nil
	if room {
		evicted, room = t.makeRoom(c.source, bytes)
	}
	if room {
		t.change(c, bytes)
	}
	t.mu.Unlock()
	closeAll(evicted)
	return room
}

// adjust changes what a connection uses, without regard to the limit.
func (t *table) adjust(c *Conn, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.element != nil {
		t.change(c, bytes)
	}
}

func (t *table) change(c *Conn, bytes int64) {
	c.cost += bytes
	t.use(c.source, bytes)
}

func closeAll(evicted []*Conn) {
	for _, c := range evicted {
		_ = c.raw.Close() // below TLS, which would wait to send an alert
	}
}
