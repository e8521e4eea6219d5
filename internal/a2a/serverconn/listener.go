// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverconn is the layer of connections between the sockets and the HTTP server:
// TLS with a replaceable certificate, HTTP/2 flood protection, and parked connections. It
// evaluates no requests.
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

// Options configure a listener.
type Options struct {
	// TLS is the TLS configuration, nil for connections without TLS.
	TLS *TLS
	// Flooded is called for each connection that is closed because its HTTP/2 frames
	// exhausted its budget.
	Flooded func()
}

// NewListener returns a listener for the connections of inner. The server must use
// ConnContext and serve the connections as unencrypted ones: their reads return plaintext,
// and an HTTP/2 connection begins with the preface.
func NewListener(inner net.Listener, o Options) net.Listener {
	return &listener{inner, o}
}

type listener struct {
	net.Listener
	options Options
}

// Accept implements net.Listener. It does not wait for the TLS handshake, which the first
// Read runs.
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

// connection hides its TLS from the server. If the server knew of TLS, it would serve
// HTTP/2 in a way in which the plaintext frames do not pass through Read and Write.
type connection struct {
	net.Conn
	// secure is the Conn if it uses TLS, and nil otherwise.
	secure  *tls.Conn
	state   atomic.Pointer[tls.ConnectionState]
	frames  frames
	flooded func()
	// unread are bytes of the next request that a Parking has already read from the client.
	unread []byte
}

var errFlood = errors.New("more HTTP/2 control frames than its requests account for")

// Read implements net.Conn.
func (c *connection) Read(p []byte) (n int, err error) {
	if len(c.unread) > 0 {
		n = copy(p, c.unread)
		c.unread = c.unread[n:]
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

// PlainRefusal is the response to a client without TLS (RFC 2817 section 4.2).
const PlainRefusal = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade, close\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 46\r\n\r\nThis agent is served with TLS only: use https\n"

// refusePlain sends PlainRefusal to a client that sent an HTTP request without TLS.
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

// tlsState returns the TLS state of a connection after its handshake, nil without TLS.
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

// ConnContext is a value for the field ConnContext of an http.Server that serves a listener
// of NewListener.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// WithTLS returns a handler that sets the TLS state of requests, and then calls next.
func WithTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			r.TLS = c.tlsState()
		}
		next.ServeHTTP(w, r)
	})
}

// TLS is the TLS configuration of a listener, for TLS 1.2 and 1.3.
type TLS struct {
	config      *tls.Config
	certificate atomic.Pointer[tls.Certificate]
}

var errNoCertificate = errors.New("no certificate")

// NewTLS returns a configuration without a certificate. requestsCert reports whether the
// server requests a certificate of clients. The handshake does not verify this certificate:
// a client whose certificate is not accepted may have another credential, and the accepted
// authorities may change during a connection.
func NewTLS(requestsCert func() bool) *TLS {
	t := &TLS{}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := t.certificate.Load(); c != nil {
			return c, nil
		}
		return nil, errNoCertificate
	}
	t.config = &tls.Config{
		MinVersion: tls.VersionTLS12,
		// These are the cipher suites of TLS 1.2 that HTTP/2 allows (RFC 9113 appendix A).
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: certificate,
	}
	requesting := t.config.Clone()
	requesting.ClientAuth = tls.RequestClientCert
	// Without tickets, a client cannot resume a session that began when no certificate was
	// requested.
	requesting.SessionTicketsDisabled = true
	t.config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if requestsCert() {
			return requesting, nil
		}
		return nil, nil
	}
	return t
}

// Swap replaces the certificate for new connections.
func (t *TLS) Swap(c *tls.Certificate) { t.certificate.Store(c) }
