// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

type listener struct {
	net.Listener
	server *Server
}

// Accept implements net.Listener. It does not wait for the TLS handshake, which the first
// Read runs. It closes connections for which there is no room.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: raw, raw: raw, server: l.server}
		c.frames.to = c
		if !l.server.table.add(c) {
			_ = raw.Close()
			continue
		}
		c.frames.start()
		if l.server.options.TLS != nil {
			c.secure = tls.Server(&wire{raw, c}, l.server.options.TLS)
			c.Conn = c.secure
		}
		return c, nil
	}
}

// Conn is a connection of a Server. It hides its TLS from net/http. If net/http knew of TLS, it
// would serve HTTP/2 in a way in which the plaintext frames do not pass through Read and Write.
type Conn struct {
	// Conn reads and writes plaintext, without counting HTTP/2 frames.
	net.Conn
	raw    net.Conn
	server *Server
	// secure is the Conn if it uses TLS, and nil otherwise.
	secure     *tls.Conn
	handshaken atomic.Bool
	// received is the number of bytes of TLS since the handshake or the current read began. Only the goroutine that reads uses it.
	received int
	// endComputation ends what computes has begun, nil if the handshake computes nothing. Only the handshake uses it.
	endComputation func()
	// isQueued is true while the handshake waits for others of the source.
	isQueued atomic.Bool
	closing  sync.Once
	// open ends, with cancel, when the connection is closed or has to leave the table.
	open    context.Context //nolint:containedctx // it lasts as long as the connection
	cancel  context.CancelFunc
	state   atomic.Pointer[tls.ConnectionState]
	frames  frames
	streams streams
	// isHTTP2 is true once the table counts the connection as one of HTTP/2.
	isHTTP2 atomic.Bool
	// isLeaving is true once the table has closed the connection, and its client may not have read it.
	isLeaving atomic.Bool
	// unread are bytes of the next request that were already read from the client.
	unread []byte
	// writeUntil is the write deadline of a connection of HTTP/2 in nanoseconds since table.began, zero until the first one. It may be over
	// while the server writes nothing.
	writeUntil atomic.Int64

	// running is the number of running requests.
	running atomic.Int32
	// busy is 0 while the server waits for the client: for a request, or for the rest of each request that runs.
	// A response of HTTP/2 that is being sent adds answering. busy is less than 0 if the connection was closed to
	// make room. since is when the server began to wait, in nanoseconds since table.began. The bytes of one request
	// do not change it.
	busy     atomic.Int32
	since    atomic.Int64
	isClosed atomic.Bool
	// isReading is true from the end of a read until the next one begins, which counts in busy. Only the goroutine
	// that reads uses it.
	isReading bool
	// isInHead is true from the second read of the header of an HTTP/1.1 request until its handler
	// runs. The connection then is in the list table.heads, whose lock guards the links.
	isInHead              atomic.Bool
	headBefore, headAfter *Conn
	// hasHead is true from the first byte of the header until the handler runs. head is the number of
	// bytes read meanwhile.
	hasHead bool
	head    int
	// hadRequest is true once an HTTP/1.1 request has ended. isIdle is true while the read deadline is that of
	// an idle connection.
	hadRequest, isIdle atomic.Bool
	// lingers is true if the handler of the last request has left a part of its body unread. halfClosed is true
	// once net/http has closed the connection in one direction.
	lingers, halfClosed atomic.Bool

	// The lock of the table guards these fields. element is the element of table.conns, and ofSource
	// the one of source.conns. They are nil if the connection is not in the table.
	element, ofSource *list.Element
	source            *source
	number            uint64
	cost              int64
	// owner is that of the running requests, and ownedCost what counts for it. isOwned is true while there is one.
	owner     string
	ownedCost int64
	isOwned   atomic.Bool
	// isEnding is true from when the table has closed the connection until its requests have ended.
	isEnding bool
	// evicted is not nil while the connection waits for room. The table closes it if it evicts the connection.
	evicted chan struct{}
	// streamCost is the part of cost for streams beside others.
	streamCost int64
}

func (c *Conn) tableElement() *list.Element { return c.element }

func (c *Conn) sourceElement() *list.Element { return c.ofSource }

const (
	// closedForRoom is a value of Conn.busy that no number of requests makes positive.
	closedForRoom = -1 << 30
	// answering is more than the number of requests of a connection. The handlers of HTTP/2 end before their responses are sent.
	answering = 1 << 16
)

// awaitsClient reports whether the server waits for the client, as busy says. It may be sending a response.
func awaitsClient(busy int32) bool { return busy >= 0 && busy%answering == 0 }

// answer begins or ends to count a response that is being sent.
func (c *Conn) answer(begins bool) {
	if begins {
		c.busy.Add(answering)
	} else {
		c.busy.Add(-answering)
	}
}

// waitForClient begins a read. Until it ends, the table may close the connection.
func (c *Conn) waitForClient() {
	if c.isReading {
		c.isReading = false
		c.rest()
	}
}

// rest notes that the server has ended a part of what it does for the client.
func (c *Conn) rest() {
	t := c.server.table
	if awaitsClient(c.busy.Add(-1)) && t.waiters.Load() > 0 {
		t.mu.Lock()
		t.wake()
		t.mu.Unlock()
	}
}

// haveRead ends a read. It returns false if the table has closed the connection.
func (c *Conn) haveRead() bool {
	c.isReading = true
	return c.busy.Add(1) > 0
}

// begin counts a request. It returns false if the connection was closed to make room.
func (c *Conn) begin() bool {
	if c.hasHead {
		c.hasHead = false
		c.server.table.heads.remove(c)
	}
	if c.isIdle.Swap(false) { // the header was read together with the previous request
		_ = c.Conn.SetReadDeadline(time.Time{})
	}
	c.running.Add(1)
	return c.busy.Load() >= 0
}

// end notes that a request with a version of HTTP has ended. The handler of a request may return after the connection, which it had
// parked, was returned to the server. So end reads nothing that Unpark writes.
func (c *Conn) end(protoMajor int) {
	if protoMajor == 1 {
		c.hadRequest.Store(true)
		c.note()
	}
	if c.running.Add(-1) > 0 {
		return
	}
	if c.isOwned.Load() {
		c.server.table.disown(c)
	}
	if c.isClosed.Load() {
		c.server.table.release(c)
	}
}

// note notes that the server begins to wait for the client.
func (c *Conn) note() { c.since.Store(int64(time.Since(c.server.table.began))) }

// Park makes the connection count as running after its handler has returned, and with the memory
// of a connection that net/http does not serve. A handler calls it, and Unpark ends it.
func (c *Conn) Park() {
	c.running.Add(1)
	c.server.table.adjust(c, parkedBytes-c.server.table.cost)
}

// EndPark makes a parked connection count as idle.
func (c *Conn) EndPark() {
	c.end(1)
	c.waitForClient()
}

// Unpark ends Park: unread are bytes of the next request that were read while the connection was parked.
// The connection then must be returned to the server.
func (c *Conn) Unpark(unread []byte) {
	c.unread = unread
	c.frames.start()
	c.server.table.adjust(c, c.server.table.cost-parkedBytes)
}

var (
	errFlood            = errors.New("more HTTP/2 control frames than its requests account for")
	errNoRoom           = errors.New("no memory for another HTTP/2 connection or request")
	errHandshakeTimeout = errors.New("the TLS handshake took too long")
)

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (n int, err error) {
	// Over HTTP/1.1, net/http reads a single byte on another goroutine, to see that a client disconnects before the handler has ended.
	// Over HTTP/2, it also reads what remains of a preface or of a frame.
	if len(p) == 1 && (c.frames.matched < 0 || !c.server.options.HTTP2) {
		return c.read(p)
	}
	if c.busy.Load() < 0 { // net/http reads on after an error
		c.closeForRoom()
		return 0, errNoRoom
	}
	// net/http reads the preface of HTTP/2 on its own, before the rest of a header.
	if c.hasHead && c.head > len(preface) && !c.isInHead.Load() && c.running.Load() == 0 {
		c.server.table.beginHead(c)
	}
	c.waitForClient()
	if !c.awaitExcess() || !c.admit() {
		c.release()
		c.closeForRoom()
		return 0, errNoRoom
	}
	n, err = c.read(p)
	if !c.haveRead() {
		c.closeForRoom()
		return 0, errNoRoom
	}
	if n == 0 {
		return n, err
	}
	rest, ok := c.frames.received(p[:n])
	if !ok {
		if c.server.options.Flooded != nil {
			c.server.options.Flooded()
		}
		_ = c.Close()
		return 0, errFlood
	}
	if len(rest) > 0 {
		c.unread = slices.Concat(rest, c.unread)
		n -= len(rest)
		err = nil
	}
	switch {
	case c.frames.matched == len(preface):
		c.waitForClient() // the frames show what the server works on
	case c.frames.matched < 0 && c.running.Load() == 0:
		c.readHead(n)
	}
	return n, err
}

func (c *Conn) read(p []byte) (n int, err error) {
	if len(c.unread) > 0 {
		n = copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	if c.secure != nil && !c.handshaken.Load() {
		if err := c.handshake(); err != nil {
			return 0, err
		}
	}
	c.received = 0
	return c.Conn.Read(p)
}

// admit waits for memory for HTTP/2, and for the stream that the client has opened last. It returns false if there is none, or if
// others have displaced the connection meanwhile.
func (c *Conn) admit() bool {
	if c.frames.matched < len(preface) {
		return true
	}
	if !c.isHTTP2.Swap(true) {
		if !c.server.table.charge(c, http2Bytes, false) {
			return false
		}
	}
	return c.admitStream()
}

// readHead counts bytes of the header of an HTTP/1.1 request. A header that arrives at once takes no place in
// table.heads, so that many clients that begin at the same time do not take it from each other. The header of an
// HTTP/2 request needs no more memory than its bytes, because net/http counts 32 bytes for each field.
func (c *Conn) readHead(bytes int) {
	if !c.hasHead {
		c.hasHead = true
		c.head = 0
		c.note()
	}
	c.head += bytes
}

// awaitTurn waits for one of the handshakes that the source may run at a time.
func (c *Conn) awaitTurn() error {
	select {
	case c.source.handshakes <- struct{}{}:
		return nil
	default:
	}
	c.isQueued.Store(true)
	defer c.isQueued.Store(false)
	timeout := time.NewTimer(headTimeout)
	defer timeout.Stop()
	select {
	case c.source.handshakes <- struct{}{}:
		return nil
	case <-c.open.Done():
		return net.ErrClosed
	case <-timeout.C:
		return errHandshakeTimeout
	}
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	if c.isHTTP2.Load() {
		c.answer(true)
		defer c.answer(false)
	}
	c.frames.sent(p)
	return c.Conn.Write(p)
}

// lingerTime is how long a client has for reading a response although the server has not read the request (RFC 9112 section 9.6).
const lingerTime = 500 * time.Millisecond

// Close implements net.Conn. net/http does not let a client read why its request was refused if that request has asked it to
// close the connection. Close does.
func (c *Conn) Close() error {
	if c.lingers.Load() && !c.halfClosed.Load() && c.busy.Load() >= 0 && c.CloseWrite() == nil {
		time.AfterFunc(lingerTime, c.Abort)
		return nil
	}
	c.release()
	if c.isLeaving.Load() {
		return nil
	}
	return c.Conn.Close()
}

// CloseWrite ends what the server sends. With it, net/http lets a client read why its request was refused
// before the connection is closed. It waits for the client half a second then.
func (c *Conn) CloseWrite() error {
	c.halfClosed.Store(true)
	c.waitForClient()
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// Abort closes the connection without waiting for a client that does not read: it closes the socket
// below TLS.
func (c *Conn) Abort() {
	c.release()
	_ = c.raw.Close()
}

func (c *Conn) release() {
	c.closing.Do(func() {
		c.server.table.release(c)
		c.cancel()
	})
}

// PlainRefusal is the response to a client without TLS (RFC 2817 section 4.2).
const PlainRefusal = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade, close\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 47\r\n\r\nThis server is served with TLS only: use https\n"

// refusePlain sends PlainRefusal to a client that sent an HTTP request without TLS.
func (c *Conn) refusePlain(err error) {
	header, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || header.Conn == nil {
		return
	}
	switch string(header.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "PRI *":
		_, _ = io.WriteString(header.Conn, PlainRefusal)
	}
}

// tlsState returns the TLS state of a connection after its handshake, nil without TLS.
func (c *Conn) tlsState() *tls.ConnectionState {
	if c.secure == nil {
		return nil
	}
	state := c.state.Load()
	if state == nil {
		now := c.secure.ConnectionState()
		state = &now
		c.state.Store(state)
	}
	return state
}

type connectionKey struct{}

func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// ConnOf returns the connection of a request that a Server serves, and otherwise nil.
func ConnOf(r *http.Request) *Conn {
	c, _ := r.Context().Value(connectionKey{}).(*Conn)
	return c
}
