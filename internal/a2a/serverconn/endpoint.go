// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoint is what stands between a socket and the HTTP server: TLS
// whose certificate can be replaced, and a bound on what an HTTP/2 client asks
// for beside requests. It knows connections, and nothing of what is said on
// them.
package serverconn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// Options say what is done with connections.
type Options struct {
	// TLS is nil for connections in the clear.
	TLS *TLS
	// Flooded is told of each connection that was closed because of its HTTP/2
	// frames.
	Flooded func()
}

// NewListener returns a listener whose connections are those of inner. They
// are to be served by a server with ConnContext, as unencrypted ones: what
// arrives is plain, and HTTP/2 begins with its preface.
func NewListener(inner net.Listener, o Options) net.Listener {
	return &listener{inner, o}
}

type listener struct {
	net.Listener
	options Options
}

// Accept neither reads nor waits for a handshake, which is part of the first Read.
func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: raw, flooded: l.options.Flooded}
	c.frames.start()
	if l.options.TLS != nil {
		c.secure = tls.Server(raw, l.options.TLS.config)
		c.Conn = c.secure
	}
	return c, nil
}

// connection hides that it has TLS: the server would want to do the rest of it
// on its own, and could not be told from whom too much has come.
type connection struct {
	net.Conn
	// secure is nil in the clear, else the same as Conn.
	secure  *tls.Conn
	state   atomic.Pointer[tls.ConnectionState]
	frames  frames
	flooded func()
	// begun was read before, of a connection that comes back from a Parking.
	begun []byte
}

var errFlood = errors.New("more HTTP/2 control frames than its requests account for")

// Read implements net.Conn.
func (c *connection) Read(p []byte) (n int, err error) {
	if len(c.begun) > 0 {
		n = copy(p, c.begun)
		c.begun = c.begun[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	if c.secure != nil && err != nil {
		c.refusePlain(err)
	}
	if n > 0 && !c.frames.received(p[:n]) {
		c.flooded()
		_ = c.Close()
		return 0, errFlood
	}
	return n, err
}

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) {
	c.frames.sent(p)
	return c.Conn.Write(p)
}

// PlainRefusal is what a client without TLS is told (RFC 2817 section 4.2).
const PlainRefusal = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade, close\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 46\r\n\r\nThis agent is served with TLS only: use https\n"

// refusePlain answers a client that speaks HTTP in the clear.
func (c *connection) refusePlain(err error) {
	header, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || header.Conn == nil {
		return
	}
	switch string(header.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "PRI *":
		_, _ = io.WriteString(header.Conn, PlainRefusal)
	}
}

// tlsState is that of a connection whose handshake is over.
func (c *connection) tlsState() *tls.ConnectionState {
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

// ConnContext is for http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// WithTLS tells requests of the TLS that they came with.
func WithTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			r.TLS = c.tlsState()
		}
		next.ServeHTTP(w, r)
	})
}
