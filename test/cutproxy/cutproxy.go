// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cutproxy is a TCP proxy that cuts connections at random byte
// positions, for tests of what a broken connection loses. The positions depend
// on the seed and the number of the connection alone, so that a failure can be
// repeated as far as the traffic can.
package cutproxy

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Options say how often and where connections are cut.
type Options struct {
	// Seed determines the cuts.
	Seed uint64
	// Rate is the share of connections that are cut, from 0 to 1. A client that
	// keeps connections alive keeps those that are not cut: with such a client,
	// use 1, and a MaxBytes of several answers.
	Rate float64
	// MaxBytes bounds the position of a cut: the number of bytes that pass
	// before it, from 0 to MaxBytes-1, evenly distributed. A connection on which
	// fewer bytes pass is not cut. The default is 4 KiB.
	MaxBytes int
	// Requests is the share of the cuts that count the bytes of the client, and
	// not those of the server.
	Requests float64
}

// Cut is what becomes of a connection.
type Cut struct {
	// After is how many bytes pass before the cut; negative for no cut.
	After int
	// Request is true when the bytes of the client are counted.
	Request bool
	// Reset is true when the connection ends with RST, false for FIN.
	Reset bool
}

// Plan returns what becomes of a connection, which are counted from 1.
func (o *Options) Plan(connection uint64) Cut {
	r := rand.New(rand.NewPCG(o.Seed, connection))
	if r.Float64() >= o.Rate {
		return Cut{After: -1}
	}
	size := o.MaxBytes
	if size <= 0 {
		size = 4 << 10
	}
	return Cut{After: r.IntN(size), Request: r.Float64() < o.Requests, Reset: r.IntN(2) == 0}
}

// Proxy forwards the connections to its address to a server.
type Proxy struct {
	options  Options
	target   string
	listener net.Listener
	disabled atomic.Bool

	connections, cuts atomic.Uint64

	mu      sync.Mutex
	open    map[net.Conn]bool
	closed  bool
	running sync.WaitGroup
}

// Start starts a proxy on loopback in front of a server at target, which is
// host:port. It ends with the test.
func Start(tb testing.TB, target string, o Options) *Proxy {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("start cutting proxy: %v", err)
	}
	p := &Proxy{options: o, target: target, listener: listener, open: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Address returns host:port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// URL returns the address of the proxy as http://host:port.
func (p *Proxy) URL() string { return "http://" + p.Address() }

// Connections returns the number of connections that clients made.
func (p *Proxy) Connections() uint64 { return p.connections.Load() }

// Cuts returns the number of connections that were cut.
func (p *Proxy) Cuts() uint64 { return p.cuts.Load() }

// Pause makes the proxy forward connections that are made from now on without
// cutting them, or takes that back. They still count.
func (p *Proxy) Pause(paused bool) { p.disabled.Store(paused) }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		number := p.connections.Add(1)
		cut := p.options.Plan(number)
		if p.disabled.Load() {
			cut.After = -1
		}
		if !p.hold(client) {
			return
		}
		p.running.Go(func() { p.forward(client, cut) })
	}
}

// forward passes bytes until one side ends, or the connection is cut.
func (p *Proxy) forward(client net.Conn, cut Cut) {
	defer p.release(client)
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.target)
	if err != nil || !p.hold(server) {
		return
	}
	defer p.release(server)
	var once sync.Once
	end := func() {
		once.Do(func() {
			p.cuts.Add(1)
			if cut.Reset {
				linger(client)
				linger(server)
			}
			_ = client.Close()
			_ = server.Close()
		})
	}
	pass := func(to, from net.Conn, counted bool) {
		if !counted || cut.After < 0 {
			_, _ = io.Copy(to, from)
		} else if n, err := io.CopyN(to, from, int64(cut.After)); err == nil && n == int64(cut.After) {
			// The byte after the cut shows that the cut is not at the end.
			if _, err := io.ReadFull(from, make([]byte, 1)); err == nil {
				end()
			}
		}
		if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pass(server, client, cut.Request) })
	both.Go(func() {
		pass(client, server, !cut.Request)
		_ = client.Close() // the server has said all; HTTP has no half-open clients
	})
	both.Wait()
}

func linger(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// hold keeps a connection in the list of those that close with the proxy. It
// returns false, and closes the connection, when the proxy is closed.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) release(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
