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
)

// ParkingOptions are all required.
type ParkingOptions struct {
	// Idle is how long a connection is kept for its next request, and
	// WriteTimeout how long its client may take to receive the end of a response.
	Idle, WriteTimeout time.Duration
	Now                func() time.Time
}

// Parking takes responses that rest out of the HTTP server's hands. It keeps for
// each request a goroutine below all handlers, whose stack has grown with them,
// and buffers; a stream on which nothing happens needs neither.
//
// It is also a listener: a parked connection comes back to the server with its
// next request.
type Parking struct {
	options ParkingOptions
	back    chan net.Conn
	closing chan struct{}

	mu     sync.Mutex
	parked map[*Parked]struct{}
	closed bool
	// running are the goroutines of all that is parked, two each.
	running sync.WaitGroup
}

// NewParking returns a parking for the connections of NewListener.
func NewParking(o ParkingOptions) *Parking {
	return &Parking{options: o, back: make(chan net.Conn), closing: make(chan struct{}), parked: map[*Parked]struct{}{}}
}

// Park has serve write the rest of a response, which is sent in chunks of
// HTTP/1.1 and was flushed; the request was read to its end. It reports whether
// it does: if so, the handler must return and touch neither of both again. The
// context that serve is given has the values of the request's, and ends when the
// client leaves. What serve returns says whether the response is whole.
func (p *Parking) Park(w http.ResponseWriter, r *http.Request, serve func(context.Context, *Parked) (whole bool)) bool {
	from, ok := r.Context().Value(connectionKey{}).(*connection)
	// A connection that ends with its answer does not come back.
	if !ok || r.ProtoMajor != 1 || r.ProtoMinor < 1 || r.Close || w.Header().Get("Connection") != "" {
		return false
	}
	ctx, leave := context.WithCancel(context.WithoutCancel(r.Context()))
	c := &Parked{parking: p, from: from, conn: from.Conn, leave: leave, over: make(chan struct{})}
	if !p.add(c) {
		leave()
		return false
	}
	_, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		leave()
		p.remove(c)
		return false
	}
	if n := buffered.Reader.Buffered(); n > 0 {
		begun, _ := buffered.Peek(n)
		c.begun = bytes.Clone(begun)
	}
	p.running.Go(c.watch)
	p.running.Go(func() {
		whole := false
		defer func() { c.end(whole) }()
		whole = serve(ctx, c)
	})
	return true
}

func (p *Parking) add(c *Parked) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.parked[c] = struct{}{}
		p.running.Add(1) // until it is removed
	}
	return !p.closed
}

func (p *Parking) remove(c *Parked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parked, c)
	p.running.Done()
}

// Len is how many connections are parked.
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

// Close implements net.Listener: nothing is parked any more, and nothing comes
// back. Streams go on.
func (p *Parking) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	close(p.closing)
	for c := range p.parked {
		if c.isOver() {
			c.dismiss()
		}
	}
	return nil
}

// Stop closes the parking and waits for its streams. When ctx ends they do.
func (p *Parking) Stop(ctx context.Context) {
	_ = p.Close()
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for c := range p.parked {
			c.cut() // first, or it might look whole
			c.leave()
		}
	})
	defer stop()
	p.running.Wait()
}

// Parked is a connection with a response that rests. One goroutine writes, and
// one waits for the client: it leaves, or asks for more.
type Parked struct {
	parking *Parking
	from    *connection
	// conn is what is below it: HTTP/1.1 needs no more.
	conn  net.Conn
	leave context.CancelFunc
	// begun is what was read of the next request.
	begun []byte
	// over is closed when nothing more is written. whole is set before.
	over  chan struct{}
	whole bool
}

func (c *Parked) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// watch is the end of a connection, or of its time here.
func (c *Parked) watch() {
	defer c.parking.remove(c)
	if len(c.begun) == 0 {
		first := make([]byte, 1)
		if n, _ := c.conn.Read(first); n > 0 {
			c.begun = first
		} else {
			c.leave()
		}
	}
	<-c.over
	if !c.whole || len(c.begun) == 0 || !c.comeBack() {
		_ = c.conn.Close()
	}
}

// comeBack hands the connection to the server, as one that is new.
func (c *Parked) comeBack() bool {
	_ = c.conn.SetDeadline(time.Time{})
	again := &connection{Conn: c.conn, secure: c.from.secure, flooded: c.from.flooded, begun: c.begun}
	again.frames.start()
	select {
	case c.parking.back <- again:
		return true
	case <-c.parking.closing:
		return false
	}
}

// end is that of the response. The client may send the next request.
func (c *Parked) end(whole bool) {
	p := c.parking
	if whole {
		_ = c.SetWriteDeadline(p.options.Now().Add(p.options.WriteTimeout))
		_, err := c.conn.Write([]byte("0\r\n\r\n"))
		whole = err == nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c.whole = whole && !p.closed; {
	case c.whole:
		_ = c.conn.SetReadDeadline(p.options.Now().Add(p.options.Idle))
	case whole:
		c.dismiss()
	default:
		c.cut()
	}
	c.leave()
	close(c.over)
}

// cut closes a connection at once. TLS says goodbye first, and waits for seconds
// for a client that takes nothing; who holds the lock cannot.
func (c *Parked) cut() {
	if c.from.secure != nil {
		_ = c.from.secure.NetConn().Close()
		return
	}
	_ = c.conn.Close()
}

// dismiss has watch close a connection on which nothing more is written.
func (c *Parked) dismiss() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) }

// chunks hold what is written at once.
var chunks = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// copied is the largest chunk that is not written in pieces: a client that does
// not read holds what was copied for it.
const copied = 16 << 10

// Write implements io.Writer: it writes a chunk.
func (c *Parked) Write(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil // which would be the end
	}
	pooled := chunks.Get().(*[]byte) //nolint:forcetypeassert // nothing else is in the pool
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

// Flush does nothing: what is written is on its way.
func (c *Parked) Flush() error { return nil }

// SetWriteDeadline bounds writing.
func (c *Parked) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }
