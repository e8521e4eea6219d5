// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serverconn

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
)

// Parking parks the connections of idle streams: it takes them out of the HTTP server,
// which holds 26 KB of stack and buffers for each request that it serves (ADR 0027).
//
// It is also a listener: it returns a parked connection to the server when the client sends
// the next request.
type Parking struct {
	idle, writeTimeout time.Duration
	back               chan net.Conn
	closing            chan struct{}

	mu     sync.Mutex
	parked map[*Parked]struct{}
	closed bool
	// running counts the parked connections and their goroutines. Each connection has two.
	running sync.WaitGroup
}

// NewParking returns a Parking for the connections of an httpserver.Server. idle is how long a parked
// connection waits for its next request after its response has ended. writeTimeout bounds the
// write of the last chunk of the response.
func NewParking(idle, writeTimeout time.Duration) *Parking {
	return &Parking{idle: idle, writeTimeout: writeTimeout, back: make(chan net.Conn), closing: make(chan struct{}), parked: map[*Parked]struct{}{}}
}

// Park parks the connection of a response, and calls serve on another goroutine, which
// writes the rest of the response. The response must be chunked (HTTP/1.1) and flushed, and
// the body of the request must be read to its end. If the connection cannot be parked, Park
// does nothing and returns false. If Park returns true, the handler must return and use
// neither w nor r again. The context of serve has the values of the context of r, and ends
// when the client disconnects, or when Stop cuts the response off. serve returns whether the
// response is complete.
func (p *Parking) Park(w http.ResponseWriter, r *http.Request, serve func(context.Context, *Parked) (complete bool)) bool {
	from := httpserver.ConnOf(r)
	// A connection that closes with its response cannot return to the server.
	if from == nil || r.ProtoMajor != 1 || r.ProtoMinor < 1 || r.Close || w.Header().Get("Connection") != "" {
		return false
	}
	ctx, leave := context.WithCancelCause(context.WithoutCancel(r.Context()))
	c := &Parked{parking: p, from: from, conn: from.Conn, leave: leave, ended: make(chan struct{})}
	if !p.add(c) {
		leave(nil)
		return false
	}
	_, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		leave(nil)
		p.remove(c)
		return false
	}
	if n := buffered.Reader.Buffered(); n > 0 {
		unread, _ := buffered.Peek(n)
		c.unread = bytes.Clone(unread)
	}
	from.Park()
	p.running.Go(c.waitForClient)
	p.running.Go(func() {
		complete := false
		defer func() { c.end(complete) }()
		complete = serve(ctx, c)
	})
	return true
}

func (p *Parking) add(c *Parked) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.parked[c] = struct{}{}
		p.running.Add(1) // remove calls Done
	}
	return !p.closed
}

func (p *Parking) remove(c *Parked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parked, c)
	p.running.Done()
}

// Len returns the number of parked connections.
func (p *Parking) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.parked)
}

// Accept implements net.Listener.
func (p *Parking) Accept() (net.Conn, error) {
	select {
	case c := <-p.back:
		return c, nil
	case <-p.closing:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (p *Parking) Addr() net.Addr { return parkingAddr{} }

type parkingAddr struct{}

func (parkingAddr) Network() string { return "parking" }
func (parkingAddr) String() string  { return "parking" }

// Close implements net.Listener. From then on, Park returns false, and no parked
// connection returns to the server. Parked streams continue.
func (p *Parking) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	close(p.closing)
	for c := range p.parked {
		if c.hasEnded() {
			c.interruptRead()
		}
	}
	return nil
}

// Stop closes the parking and waits for the end of its streams. When ctx ends, it cuts the
// remaining streams off: their contexts end with the cause of ctx.
func (p *Parking) Stop(ctx context.Context) {
	_ = p.Close()
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for c := range p.parked {
			c.cutOff = true
			// leave is called before Abort, so that a stream whose write fails because of Abort
			// finds the cause in its context.
			c.leave(context.Cause(ctx))
			c.from.Abort()
		}
	})
	defer stop()
	p.running.Wait()
}

// Parked is a parked connection. One goroutine writes to it. Another one waits until the
// client disconnects or sends the next request.
type Parked struct {
	parking *Parking
	from    *httpserver.Conn
	// conn is from.Conn. Its reads and writes count no HTTP/2 frames, because the connection
	// uses HTTP/1.1.
	conn  net.Conn
	leave context.CancelCauseFunc
	// unread are bytes of the next request that were already read from the client. Only
	// waitForClient uses them.
	unread []byte
	// pipelined is true once unread has bytes. parking.mu guards it.
	pipelined bool
	// ended is closed when the response has ended. reusable is set before that. It is true
	// if the client may send another request on the connection.
	ended    chan struct{}
	reusable bool
	// cutOff is true once Stop has cut the response off, which must then look incomplete.
	// parking.mu guards it.
	cutOff bool
}

func (c *Parked) isCutOff() bool {
	c.parking.mu.Lock()
	defer c.parking.mu.Unlock()
	return c.cutOff
}

func (c *Parked) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// waitForClient waits until the client disconnects or sends the next request, and until the
// response has ended. It then returns the connection to the server, or closes it.
func (c *Parked) waitForClient() {
	defer c.parking.remove(c)
	left := c.readAhead()
	if left {
		c.leave(nil)
	}
	<-c.ended
	if left || !c.reusable || len(c.unread) == 0 || !c.returnToServer() {
		_ = c.from.Close()
	}
}

// maxReadAhead is the length of unread at which readAhead stops to read, in bytes. It bounds
// the memory of a parked connection for requests that the client sends early. From then on,
// only a failed write or the end of the response shows that the client has disconnected. The
// bound exceeds the 4 KiB that the server may have read before it parked the connection.
const maxReadAhead = 16 << 10

// readAhead reads bytes of the next request into unread, because only a read detects that
// the client has disconnected. left is true if the client has disconnected, or if no byte
// of the next request has arrived before the deadline that end or Close sets. readAhead
// returns false if unread is full, or if unread has bytes and the response has ended.
func (c *Parked) readAhead() (left bool) {
	// Most clients send no byte before the end of the response.
	buffer := make([]byte, 1)
	for {
		switch {
		case len(c.unread) >= maxReadAhead, len(c.unread) > 0 && c.notePipelined():
			return false
		case len(c.unread) > 0 && len(buffer) == 1:
			buffer = make([]byte, 512)
		}
		n, err := c.conn.Read(buffer)
		c.unread = append(c.unread, buffer[:n]...)
		if err != nil {
			// If unread has bytes and the response has ended, end has interrupted the read, and the
			// client has not disconnected.
			return len(c.unread) == 0 || !c.notePipelined()
		}
	}
}

// notePipelined records that the client has sent its next request early. From then on, the end
// of the response interrupts the read of readAhead. notePipelined returns true if the response
// has already ended.
func (c *Parked) notePipelined() (ended bool) {
	c.parking.mu.Lock()
	defer c.parking.mu.Unlock()
	c.pipelined = true
	return c.hasEnded()
}

// returnToServer passes the connection to the server's call of Accept. It returns false if
// the parking is closed.
func (c *Parked) returnToServer() bool {
	_ = c.conn.SetDeadline(time.Time{})
	c.from.Unpark(c.unread)
	select {
	case c.parking.back <- c.from:
		return true
	case <-c.parking.closing:
		return false
	}
}

// end ends the response. If the response is complete, the client may send the next request.
func (c *Parked) end(complete bool) {
	p := c.parking
	complete = complete && !c.isCutOff()
	if complete {
		_ = c.SetWriteDeadline(time.Now().Add(p.writeTimeout)) //nolint:forbidigo // deadlines use the clock of the machine
		_, err := c.conn.Write([]byte("0\r\n\r\n"))
		complete = err == nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.reusable = complete && !p.closed
	switch {
	case c.reusable && c.pipelined:
		c.interruptRead()
	case c.reusable:
		_ = c.conn.SetReadDeadline(time.Now().Add(p.idle)) //nolint:forbidigo // deadlines use the clock of the machine
	case complete:
		c.interruptRead()
	default:
		c.from.Abort()
	}
	c.leave(nil)
	c.from.EndPark()
	close(c.ended)
}

// interruptRead ends the read of waitForClient. waitForClient then returns the connection to
// the server if the next request has begun, and otherwise closes it.
func (c *Parked) interruptRead() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) }

// chunks pools the buffers of small chunks.
var chunks = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// copied is the maximum size, in bytes, of a chunk that is copied into a buffer, so that
// one write suffices. A client that does not read delays the release of the buffer.
const copied = 16 << 10

// Write implements io.Writer. It writes one chunk.
func (c *Parked) Write(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil // an empty chunk ends the response
	}
	pooled := chunks.Get().(*[]byte) // nothing else is in the pool
	defer chunks.Put(pooled)
	head := append(strconv.AppendInt((*pooled)[:0], int64(len(text)), 16), '\r', '\n')
	if len(text) <= copied {
		*pooled = append(append(head, text...), '\r', '\n')
		if _, err := c.conn.Write(*pooled); err != nil {
			return 0, err
		}
		return len(text), nil
	}
	pieces := net.Buffers{head, text, []byte("\r\n")}
	if _, err := pieces.WriteTo(c.conn); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush does nothing, because Write does not buffer.
func (c *Parked) Flush() error { return nil }

// SetWriteDeadline sets the deadline of writes.
func (c *Parked) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }
