// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpserver creates every HTTP server of the programs. It bounds what clients may cost
// before they are authenticated: the memory and number of connections, in total and by source
// address, TLS handshakes, headers, time, and HTTP/2 frames. A listener without room closes the
// connections for whose clients it has waited for the longest time, instead of letting new ones wait.
//
// The package evaluates no requests.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// Limits that all servers share.
const (
	// maxHeaderBytes is the default of Options.HeaderBytes. net/http reads up to 4 KiB more.
	maxHeaderBytes = 8 << 10
	// maxFields is the maximum number of header fields of a request, because the memory that a field needs
	// is many times its length. fewBytes is the length of a header that may have more.
	maxFields = 128
	fewBytes  = 2 << 10
	// headTimeout bounds the time for the TLS handshake and the header of the first request
	// together, and the time for the header of each further request.
	headTimeout = 5 * time.Second
	// IdleTimeout is how long a connection may wait for its next request.
	IdleTimeout = 2 * time.Minute
	// WriteTimeout bounds the time of each write of a stream or of a response to a long call, and
	// the time in which the client of an HTTP/2 connection must read something.
	WriteTimeout = 15 * time.Second
	// pingInterval is the time without a frame after which the server pings an HTTP/2 client.
	pingInterval = time.Minute
	// maxStreams is the maximum number of concurrent requests on one HTTP/2 connection. A proxy
	// with more requests opens another connection.
	maxStreams = 100
	// maxUnread is the maximum amount of unread request data on one HTTP/2 connection, and in one
	// of its requests, in bytes.
	maxUnread = 64 << 10
	// maxFrame is the maximum length of an HTTP/2 frame, in bytes. A connection has a buffer for
	// the longest frame that it received.
	maxFrame = 16 << 10
)

// unlimited is the memory that a program without a memory limit counts with, in bytes.
const unlimited = 4 << 30

// Memory returns how many bytes all connections of the program may use together: a quarter of the
// memory limit of the Go runtime, or of 4 GiB if there is no limit.
func Memory() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = unlimited
	}
	return limit / 4
}

// Options configure a Server.
type Options struct {
	// Name is the name of the listener, in metrics and in the readiness check.
	Name    string
	Handler http.Handler
	// Memory is how many bytes the connections may use, in the worst case.
	Memory int64
	// TLS is the TLS configuration, nil for connections without TLS. Without HTTP2, the server
	// offers only HTTP/1.1 (ALPN).
	TLS *tls.Config
	// HTTP2 enables HTTP/2, with TLS by ALPN and without TLS by prior knowledge. Otherwise, the
	// server speaks only HTTP/1.1, and has no HTTP/2 that could be flooded.
	HTTP2 bool
	// HeaderBytes is the maximum size of the header of a request. It defaults to 8 KiB.
	HeaderBytes int
	// ReadTimeout bounds the time in which a request must arrive, WriteTimeout the time from
	// its header to the end of its response. 0 means that the handler sets deadlines.
	ReadTimeout, WriteTimeout time.Duration
	// Probes is for listeners whose requests are short and may be repeated: if the server waits for no
	// client, it closes connections with a running request to admit new ones. It does not
	// close running requests from a loopback address.
	Probes bool
	// Flooded is called for each connection that is closed because its HTTP/2 frames
	// exhausted its budget. Nil does nothing.
	Flooded func()
}

// Server is an HTTP server. Fields of its http.Server may be set before Listener is called, except
// for Handler, ConnContext and the limits in Options.
type Server struct {
	*http.Server
	options Options
	table   *table
}

// New returns a Server.
func New(o Options) *Server {
	if o.HeaderBytes == 0 {
		o.HeaderBytes = maxHeaderBytes
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(o.HTTP2)
	if o.TLS != nil && !o.HTTP2 {
		o.TLS = o.TLS.Clone()
		o.TLS.NextProtos = []string{"http/1.1"}
	}
	if o.TLS != nil {
		o.TLS = boundTLS(o.TLS)
	}
	s := &Server{options: o, table: newTable(&o)}
	s.Server = &http.Server{
		Handler:           s.counted(o.Handler),
		ReadHeaderTimeout: headTimeout,
		ReadTimeout:       o.ReadTimeout,
		WriteTimeout:      o.WriteTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    o.HeaderBytes,
		Protocols:         protocols,
		// WriteByteTimeout ends the connection of a client that does not read from its
		// socket, because such a client blocks all streams of its connection.
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout: WriteTimeout, SendPingTimeout: pingInterval, PingTimeout: WriteTimeout,
			MaxConcurrentStreams: maxStreams, MaxReadFrameSize: maxFrame,
			MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
		},
		ConnContext: connContext,
	}
	if o.HTTP2 {
		// net/http starts this timer of an HTTP/2 connection again after the connection has ended, which keeps
		// all that the connection held for as long. Conn.SetReadDeadline ends idle connections instead. With 0, it
		// would use the read timeout.
		s.IdleTimeout = -1
	}
	return s
}

// Listener returns a listener for the connections of inner, for the method Serve, also if the
// server uses TLS: reads return plaintext. The method Accept of the listener waits
// for room for at most a second.
func (s *Server) Listener(inner net.Listener) net.Listener { return &listener{inner, s} }

const (
	// refusalsCount is how long a Server must refuse connections until it is not ready, and refusalsStay how long it
	// is not ready afterwards.
	refusalsCount = 5 * time.Second
	refusalsStay  = 10 * time.Second
)

// Ready is a readiness check. It returns an error if, for five seconds or longer, the server has refused
// connections because it could close none to make room, the last one in the last ten seconds. A source
// address that uses its share does not make the server unready.
func (s *Server) Ready(*http.Request) error {
	if s.table.refusals.persist(time.Since(s.table.began)) {
		return fmt.Errorf("the listener %s is full: it may close none of its connections, and refuses new ones", s.options.Name)
	}
	return nil
}

// Run serves listener until ctx ends, and then shuts the server down. After grace, it closes the
// connections whose requests still run.
func (s *Server) Run(ctx context.Context, inner net.Listener, grace time.Duration) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	})
	if err := s.Serve(s.Listener(inner)); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve %s: %w", s.options.Name, err)
	}
	<-stopped
	return nil
}

// counted returns a handler that counts the running requests of each connection, and sets the TLS
// state of requests. It refuses an HTTP/2 request for which the server has no memory.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := ConnOf(r)
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		defer c.end(r.ProtoMajor)
		if !c.begin() {
			panic(http.ErrAbortHandler)
		}
		if c.hasTooManyFields(r) {
			http.Error(w, "too many header fields", http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		if r.ProtoMajor == 2 {
			defer c.endHandler()
			if !c.beginHandler() {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests at the same time", http.StatusServiceUnavailable)
				return
			}
			own := &deadlines{ResponseWriter: w}
			defer own.end()
			w = own
			_ = growStack(0)
		}
		r.TLS = c.tlsState()
		if r.Close && r.ProtoMajor == 1 && r.ContentLength != 0 {
			body := &body{ReadCloser: r.Body, left: r.ContentLength}
			r.Body = body
			defer func() { c.lingers.Store(body.left != 0) }()
		}
		next.ServeHTTP(w, r)
	})
}

// growStack grows the stack of a goroutine to what most requests need. Each stream of HTTP/2 has a new goroutine: below the calls of all
// handlers, its stack would grow in several steps, and the runtime would copy and adjust all of these calls each time. It returns 0, and
// has an argument, so that the compiler keeps the frame.
//
//go:noinline
func growStack(at int) byte {
	var frame [8 << 10]byte
	return frame[at]
}

// body is the body of a request that counts the bytes that are left, which are negative if their number is not known.
type body struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if errors.Is(err, io.EOF) {
		b.left = 0
	}
	return n, err
}

// hasTooManyFields reports whether the header of an HTTP/1.1 request has more than maxFields fields.
func (c *Conn) hasTooManyFields(r *http.Request) bool {
	if c.head <= fewBytes || r.ProtoMajor != 1 {
		return false
	}
	fields := 0
	for _, values := range r.Header {
		fields += len(values)
	}
	return fields > maxFields
}
