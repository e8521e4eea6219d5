// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connectproxy is an HTTP proxy with the method CONNECT for tests. The proxy connects a client to the same
// server for each host, as if the proxy alone could resolve the name.
package connectproxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Request is a request that the proxy received.
type Request struct {
	// Target is the method and the host, such as "CONNECT example.com:443".
	Target string
	// Authorization is the header Proxy-Authorization.
	Authorization string
}

// Proxy is the proxy. Its methods are safe for concurrent use.
type Proxy struct {
	*httptest.Server
	target string

	mu       sync.Mutex
	answer   func(client net.Conn) (continues bool)
	requests []Request
	tunnels  []net.Conn
}

// New starts a proxy at the address listen, such as 127.0.0.1:0, which connects to the server at the address target. If secure is true, it
// serves TLS.
func New(tb testing.TB, listen, target string, secure bool) *Proxy {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", listen)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{target: target}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.connect))
	_ = p.Listener.Close()
	p.Listener = listener
	if secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	tb.Cleanup(func() {
		p.Cut()
		p.Close()
	})
	return p
}

// Answer replaces the response to CONNECT. If continues is false, answer has written the response, or writes none. Nil restores the proxy.
func (p *Proxy) Answer(answer func(client net.Conn) (continues bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// Requests returns the requests that the proxy has received.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Cut closes all connections through the proxy.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.tunnels {
		_ = c.Close()
	}
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	p.requests = append(p.requests, Request{r.Method + " " + r.Host, r.Header.Get("Proxy-Authorization")})
	p.tunnels = append(p.tunnels, client)
	answer := p.answer
	p.mu.Unlock()
	if answer != nil && !answer(client) {
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.WithoutCancel(r.Context()), "tcp", p.target)
	if err != nil {
		_, _ = io.WriteString(client, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		_ = client.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}
