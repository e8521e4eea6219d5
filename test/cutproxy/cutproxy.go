// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cutproxy is a fault injection proxy: a TCP proxy that cuts connections at
// random byte positions. The positions depend only on the seed and the number of the
// connection, so that a test can repeat a failure if its traffic is the same.
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

// Options determine how often and where the proxy cuts connections.
type Options struct {
	// Seed determines the cuts.
	Seed uint64
	// Rate is the share of connections to cut, from 0 to 1. A client with keep-alive would
	// soon use only connections that are not cut. For such a client, use 1, and a MaxBytes
	// of several answers.
	Rate float64
	// MaxBytes bounds the position of a cut, which is evenly distributed over the bytes 0
	// to MaxBytes-1. A connection with fewer bytes is not cut. The default is 4 KiB.
	MaxBytes int
	// Requests is the share of the cuts whose position is in the bytes that the client sends.
	// The positions of all other cuts are in the bytes that the server sends.
	Requests float64
}

// Cut is the plan for one connection.
type Cut struct {
	// After is the number of bytes before the cut; negative for no cut.
	After int
	// Request is true if After counts the bytes that the client sends, false for the server.
	Request bool
	// Reset is true for a cut by RST, false for FIN.
	Reset bool
}

// Plan returns the plan for a connection. Connections are counted from 1.
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

// Proxy forwards connections to a server. It is safe for concurrent use.
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

// Start starts a proxy on loopback in front of a server. target is the host:port of the
// server. The proxy ends with the test.
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

// Address returns the host:port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// URL returns the address of the proxy as http://host:port.
func (p *Proxy) URL() string { return "http://" + p.Address() }

// Connections returns the number of connections that clients have made.
func (p *Proxy) Connections() uint64 { return p.connections.Load() }

// Cuts returns the number of connections that the proxy has cut.
func (p *Proxy) Cuts() uint64 { return p.cuts.Load() }

// Pause turns cuts of new connections off, or on again. Connections count in either
// case.
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
		if !p.track(client) {
			return
		}
		p.running.Go(func() { p.forward(client, cut) })
	}
}

// forward passes bytes until one side ends, or the connection is cut.
func (p *Proxy) forward(client net.Conn, cut Cut) {
	defer p.release(client)
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.target)
	if err != nil || !p.track(server) {
		return
	}
	defer p.release(server)
	var once sync.Once
	doCut := func() {
		once.Do(func() {
			p.cuts.Add(1)
			if cut.Reset {
				resetOnClose(client)
				resetOnClose(server)
			}
			_ = client.Close()
			_ = server.Close()
		})
	}
	pass := func(to, from net.Conn, counted bool) {
		if !counted || cut.After < 0 {
			_, _ = io.Copy(to, from)
		} else if n, err := io.CopyN(to, from, int64(cut.After)); err == nil && n == int64(cut.After) {
			// Cut only if one more byte follows. Otherwise the position is the end of the traffic.
			if _, err := io.ReadFull(from, make([]byte, 1)); err == nil {
				doCut()
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
		_ = client.Close() // the server has sent everything, and no HTTP client continues to send after this
	})
	both.Wait()
}

// resetOnClose makes Close send RST.
func resetOnClose(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// track adds a connection to those that close with the proxy. If the proxy is closed,
// track closes the connection and returns false.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

// release closes a connection and stops tracking it.
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
