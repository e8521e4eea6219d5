// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package http1 calls the agent beside the sidecar, and receivers of push
// notifications: HTTP/1.1 in the clear, on the goroutine of its caller.
//
// The transport of net/http hands each request to two goroutines of its
// connection, which costs more than all the rest of a call on loopback. Here a
// request is written and its answer read by whoever asks. What an answer is,
// and where it ends, is still for net/http to say (http.ReadResponse).
//
// It follows no redirect, asks no proxy, and never sends anything twice.
package http1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Options bound a client. All fields are required but Dial.
type Options struct {
	// Connect bounds the time until a connection is made.
	Connect time.Duration
	// Dial makes a connection in the place of a net.Dialer. It is a
	// *net.TCPConn.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxIdle is how many connections are kept for later, and Idle for how long.
	MaxIdle int
	Idle    time.Duration
	// MaxHeader bounds the head of an answer, in bytes.
	MaxHeader int
	// Now is the clock.
	Now func() time.Time
}

// Request is one call. Nothing in it is changed.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	// Body is nil for none.
	Body []byte
}

// Client calls servers. It keeps connections that can be used again.
type Client struct {
	options Options

	mu sync.Mutex
	// idle are the connections that nobody uses, the last one used at the end.
	idle []*conn
	// sweeper closes those that were not used for a while; nil while there are
	// none.
	sweeper *time.Timer
}

// New returns a client.
func New(o Options) *Client {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Connect}).DialContext
	}
	return &Client{options: o}
}

// Speaks reports whether a client can call an address.
func Speaks(u *url.URL) bool {
	if !supported || u.Scheme != "http" || u.Host == "" {
		return false
	}
	for i := range len(u.Host) {
		// What needs another spelling, as names beyond ASCII do.
		if c := u.Host[i]; c <= ' ' || c > '~' || c == '%' {
			return false
		}
	}
	return true
}

const (
	// maxWritten is how much of a request is written before its answer is
	// looked for: what fits into the buffers of a socket, whoever reads it.
	maxWritten = 32 << 10
	maxPooled  = 2 * maxWritten
)

// buffers hold what is written at once of a request.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// Do sends a request and returns the answer, whatever its status. The caller
// closes the body. When ctx ends, so does the call, and all that is read
// returns the cause. Errors of making a connection are a *net.OpError of dial.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is in the pool
	first, err := r.appendHead((*buffer)[:0])
	if err != nil {
		return nil, err
	}
	begin := min(len(r.Body), max(maxWritten-len(first), 0))
	first = append(first, r.Body[:begin]...)
	defer func() {
		if cap(first) <= maxPooled {
			*buffer = first
			buffers.Put(buffer)
		}
	}()
	address := r.address()
	for {
		used := c.take(address)
		if used == nil {
			break
		}
		resp, err := used.call(ctx, first, r.Body[begin:])
		if errors.Is(err, errUnsent) {
			continue // the server closed it a moment ago
		}
		return resp, err
	}
	made, err := c.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return made.call(ctx, first, r.Body[begin:])
}

// CloseIdleConnections closes what nobody uses.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(len(c.idle))
}

func (c *Client) dial(ctx context.Context, address string) (*conn, error) {
	socket, err := c.options.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return newConn(c, address, socket)
}

// take returns a connection that can be used again, nil for none.
func (c *Client) take(address string) *conn {
	for {
		last := c.pop(address)
		if last == nil || last.quiet() {
			return last
		}
		_ = last.socket.Close()
	}
}

func (c *Client) pop(address string) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, last := range slices.Backward(c.idle) {
		if last.address != address {
			continue
		}
		if c.options.Now().Sub(last.since) >= c.options.Idle {
			return nil // and those before it are older
		}
		c.idle = slices.Delete(c.idle, i, i+1)
		return last
	}
	return nil
}

// keep takes a connection back, in the place of an older one when there are
// enough.
func (c *Client) keep(used *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) >= c.options.MaxIdle {
		c.drop(1)
	}
	used.since = c.options.Now()
	c.idle = append(c.idle, used)
	if c.sweeper == nil {
		c.sweeper = time.AfterFunc(c.options.Idle, c.sweep)
	}
}

// sweep closes what was idle for too long, and looks again when the next one
// will have been.
func (c *Client) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sweeper == nil {
		return
	}
	now := c.options.Now()
	old := 0
	for old < len(c.idle) && now.Sub(c.idle[old].since) >= c.options.Idle {
		old++
	}
	c.drop(old)
	if c.sweeper != nil {
		c.sweeper.Reset(c.options.Idle - now.Sub(c.idle[0].since))
	}
}

// drop closes the oldest connections. c.mu is held.
func (c *Client) drop(count int) {
	for _, each := range c.idle[:count] {
		_ = each.socket.Close()
	}
	c.idle = slices.Delete(c.idle, 0, count)
	if len(c.idle) == 0 && c.sweeper != nil {
		c.sweeper.Stop()
		c.sweeper = nil
	}
}
