// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"container/list"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
)

// The costs of a connection, in bytes of the heap and of stacks. TestWorstBytes measures them.
const (
	// connBytes is the cost of a connection that is idle or has a running request, and tlsBytes the
	// additional cost of TLS.
	connBytes = 56 << 10
	tlsBytes  = 24 << 10
	// headBytes is the additional cost of a header of up to 8 KiB that is being read. net/http parses it line by line, and a
	// field of 6 bytes costs 110.
	headBytes = 256 << 10
	// http2Bytes is the additional cost of an HTTP/2 connection, most of which are request data that no
	// handler has read (maxUnread).
	http2Bytes = maxUnread + 32<<10
	// overdraft is the divisor of the use of all that gives what the refusals of streams may use in addition.
	overdraft = 8
	// streamBytes is the cost of a request beside other requests of the same connection.
	streamBytes = 32 << 10
	// manyBytes is the cost of so many such requests that the connection is closed before those with few.
	manyBytes = 4 * streamBytes
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
	// sureShare is the divisor of the use of all that gives what each source address may use, however
	// little remains free: many addresses together leave nothing free.
	sureShare = 4
	// fullShare is the divisor of the use of all that gives what remains free if a source over its share displaces others.
	fullShare = 16
	// maxScanned is how many connections are examined at a time. The next examination continues with
	// the others.
	maxScanned = 1024
	// minHeads is the minimum of maxHeads.
	minHeads = 8
	// maxSpared is how many connections at a time may be spared because their clients have sent something.
	maxSpared = 64
	// oldTime is how long the server waits for a client until its connection is closed before those with many streams.
	oldTime = headTimeout
	// freshTime is how long a connection without many streams is not closed for other sources.
	freshTime = 10 * time.Millisecond
	// endTimeout bounds the wait for room.
	endTimeout = time.Second
	// workTimeout bounds the wait for room for one more of many streams while the server works on others of them.
	workTimeout = 100 * time.Millisecond
	// maxHandshakes is how many TLS handshakes of one source run at a time. The others wait.
	maxHandshakes = 16
)

// table is the table of the connections of a listener. Its methods are safe for concurrent use.
type table struct {
	options *Options
	metrics listenerMetrics
	cost    int64
	began   time.Time
	// refusals are those of connections because all others have running requests.
	refusals refusals
	// heads are the connections that wait for the rest of the header of a request.
	heads    heads
	maxUsed  int64
	maxHeads int
	// leaving is the number of closed HTTP/2 connections whose clients may not have read it.
	leaving atomic.Int32
	turns   turns

	mu   sync.Mutex
	used int64
	// ending is the part of used of connections that the table has closed and whose requests have not ended yet.
	ending int64
	// changed is closed, and replaced, when there may be room for one of the waiters. isStuck is true if there was none within
	// endTimeout.
	changed chan struct{}
	waiters atomic.Int32
	isStuck bool
	// owned is what connections with owners use, and owners the part of each owner.
	owned   int64
	owners  map[string]int64
	sources map[netip.Addr]*source
	// conns has the connections of all sources, those first that are examined first.
	conns list.List
	// waiting has the connections that examine has found.
	waiting []candidate
	// accepted is the number of connections that were admitted so far.
	accepted uint64
}

// source is a source address that has connections. table.mu guards it.
type source struct {
	address netip.Addr
	used    int64
	// waiting is what those connections use for whose clients the server waits, when oldest has examined them.
	waiting int64
	// conns has the connections, those first that are examined first.
	conns list.List
	// heads is the number of its connections in the header of a request. table.heads.mu guards it.
	heads int
	// handshakes has a slot for each TLS handshake of the source.
	handshakes chan struct{}
}

func newTable(o *Options) *table {
	t := &table{
		options: o, turns: newTurns(), cost: connBytes + headerCopies*int64(max(0, o.HeaderBytes-maxHeaderBytes)),
		began: time.Now(), sources: map[netip.Addr]*source{}, owners: map[string]int64{}, changed: make(chan struct{}), metrics: newListenerMetrics(o.Name), //nolint:forbidigo // only differences of times of the machine are used
	}
	if o.TLS != nil {
		t.cost += tlsBytes
	}
	t.maxHeads = max(minHeads, int(o.Memory/headShare*maxHeaderBytes/(headBytes*int64(o.HeaderBytes))))
	t.maxUsed = o.Memory - o.Memory/headShare
	return t
}

// sourceOf returns the address as which the table counts a client.
func sourceOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return sourceaddress.Of(tcp.AddrPort().Addr())
}

// add adds a connection. It closes others to make room. It returns false if there is none. Calls must not overlap.
func (t *table) add(c *Conn) bool {
	address := sourceOf(c.RemoteAddr())
	c.open, c.cancel = context.WithCancel(context.Background())
	t.mu.Lock()
	from := t.sources[address]
	if from == nil {
		from = &source{address: address}
		if t.options.TLS != nil {
			from.handshakes = make(chan struct{}, maxHandshakes)
		}
		t.sources[address] = from
	}
	c.source = from
	evicted, room := t.makeRoom(newDemand(c, t.cost, 0))
	if room {
		t.sources[address] = from // the eviction of its last connection has removed it
		t.accepted++
		c.number = t.accepted
		c.cost = t.cost
		c.note()
		c.element = t.conns.PushBack(c)
		c.ofSource = from.conns.PushBack(c)
		t.use(from, t.cost)
		t.metrics.open.Inc()
	} else {
		t.noteRefusal(t.cost > t.free())
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
	if s.conns.Len() == 0 && t.sources[s.address] == s {
		delete(t.sources, s.address)
	}
}

// free returns how many bytes are free. Those of connections that have been closed are free before their requests have
// ended, up to the overdraft. The caller holds the lock.
func (t *table) free() int64 { return t.maxUsed - t.used + min(t.ending, t.maxUsed/overdraft) }

func (t *table) noteRefusal(isFull bool) {
	if !isFull {
		t.metrics.source.Inc()
		return
	}
	t.metrics.full.Inc()
	t.refusals.note(time.Since(t.began))
}

// beginHead counts a connection that waits for the rest of the header of a request. If there are too many, it closes one of them.
func (t *table) beginHead(c *Conn) {
	excess := t.heads.add(c, t.maxHeads)
	if excess == nil || !excess.busy.CompareAndSwap(0, closedForRoom) {
		return
	}
	t.mu.Lock()
	if excess.element != nil {
		t.metrics.idle.Inc()
		t.remove(excess)
	}
	t.mu.Unlock()
	closeAll([]*Conn{excess})
}

// heads is a list of connections that wait for the rest of the header of a request, in the order in which the headers began. Its
// methods are safe for concurrent use. Its links are in the connections, because each request adds one.
type heads struct {
	mu          sync.Mutex
	first, last *Conn
	count       int
}

// add adds a connection. If the list then has more than limit connections, add removes and returns one,
// and otherwise returns nil. It chooses the first one of a source that has more than an eighth of them, and
// otherwise the first one.
func (h *heads) add(c *Conn, limit int) *Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.isInHead.Store(true)
	c.headBefore = h.last
	if h.last != nil {
		h.last.headAfter = c
	} else {
		h.first = c
	}
	h.last = c
	h.count++
	c.source.heads++
	if h.count <= limit {
		return nil
	}
	excess := h.first
	for each := h.first; each != nil; each = each.headAfter {
		if each.source.heads > max(1, limit/8) {
			excess = each
			break
		}
	}
	h.unlink(excess)
	return excess
}

// remove removes a connection, if it is in the list.
func (h *heads) remove(c *Conn) {
	if !c.isInHead.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.isInHead.Load() {
		h.unlink(c)
	}
}

func (h *heads) unlink(c *Conn) {
	if c.headBefore != nil {
		c.headBefore.headAfter = c.headAfter
	} else {
		h.first = c.headAfter
	}
	if c.headAfter != nil {
		c.headAfter.headBefore = c.headBefore
	} else {
		h.last = c.headBefore
	}
	c.headBefore = nil
	c.headAfter = nil
	c.isInHead.Store(false)
	c.source.heads--
	h.count--
}

// len returns the number of connections.
func (h *heads) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// remove removes a connection. If it has running requests, their memory counts until they have ended. The caller holds
// the lock.
func (t *table) remove(c *Conn) {
	t.conns.Remove(c.element)
	c.source.conns.Remove(c.ofSource)
	c.isClosed.Store(true)
	c.cancel()
	c.isEnding = c.running.Load() > 0
	if c.isEnding {
		t.ending += c.cost
	} else {
		t.use(c.source, -c.cost)
	}
	t.wake()
	if c.evicted != nil {
		close(c.evicted)
	}
	c.element = nil
	c.ofSource = nil
	t.heads.remove(c)
	t.forgetIfEmpty(c.source)
	t.metrics.open.Dec()
}

// release removes a connection that is closed, if it is still there. While requests of the connection
// run, it stays, because their handlers still use memory: the end of the last one calls release again.
func (t *table) release(c *Conn) {
	c.isClosed.Store(true)
	if c.running.Load() > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case c.element != nil:
		t.remove(c)
	case c.isEnding:
		c.isEnding = false
		t.ending -= c.cost
		t.use(c.source, -c.cost)
		t.wake()
	}
}

// charge adds bytes to what a connection uses. It closes other connections, or waits, to make room. It returns false if there is
// none.
func (t *table) charge(c *Conn, bytes int64, isStream bool) bool {
	t.mu.Lock()
	var evicted []*Conn
	room := c.element != nil
	if room {
		streams := int64(0)
		if isStream {
			streams = c.streamCost + bytes
		}
		evicted, room = t.makeRoom(newDemand(c, bytes, streams))
		room = room && c.element != nil
	}
	switch {
	case room && isStream:
		t.changeStreams(c, bytes)
	case room:
		t.change(c, bytes)
	}
	t.mu.Unlock()
	closeAll(evicted)
	return room
}

// chargeRefusal adds bytes for a stream that is refused. It returns false if the overdraft has no room.
func (t *table) chargeRefusal(c *Conn, bytes int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.element == nil || t.used+bytes > t.maxUsed+t.maxUsed/overdraft {
		return false
	}
	t.changeStreams(c, bytes)
	return true
}

// adjustStreams changes what the streams of a connection use, without regard to the limit.
func (t *table) adjustStreams(c *Conn, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.element != nil {
		t.changeStreams(c, bytes)
		t.wake()
	}
}

func (t *table) changeStreams(c *Conn, bytes int64) {
	t.change(c, bytes)
	c.streamCost += bytes
}

// adjust changes what a connection uses, without regard to the limit.
func (t *table) adjust(c *Conn, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.element == nil {
		return
	}
	t.change(c, bytes)
	if c.isOwned.Load() {
		t.useOwner(c, bytes)
	}
}

func (t *table) change(c *Conn, bytes int64) {
	c.cost += bytes
	t.use(c.source, bytes)
}

func closeAll(evicted []*Conn) {
	for _, c := range evicted {
		c.closeForRoom()
	}
}
