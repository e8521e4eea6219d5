// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package http1 is a client of HTTP/1.1 without TLS. It calls the agent in the pod of the
// sidecar and the receivers of push notifications.
//
// The transport of net/http passes each request to two goroutines of its connection. Over
// loopback, this costs more than the rest of a call. This client writes the request and
// reads the response on the goroutine of its caller. http.ReadResponse parses the response
// and finds its end.
//
// The client follows no redirect, uses no proxy and sends no request twice.
package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

// Options configures a client. All fields except Dial are required. Connect is not required
// if Dial is set.
type Options struct {
	// Connect bounds the time until a connection is made. It is ignored if Dial is set.
	Connect time.Duration
	// Dial makes a connection. By default, a net.Dialer does. The connection must implement
	// syscall.Conn, as a *net.TCPConn does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxIdle bounds the number of idle connections of the client. IdleTimeout is the time
	// after which an idle connection is closed.
	MaxIdle     int
	IdleTimeout time.Duration
}

// Client sends requests and pools their connections. It is safe for concurrent use.
type Client struct {
	options Options
	pool    pool
}

// New returns a client.
func New(o Options) *Client {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Connect}).DialContext
	}
	return &Client{options: o, pool: pool{max: o.MaxIdle, timeout: o.IdleTimeout}}
}

// Supports reports whether a client can call a URL: whether its scheme is http, and its
// host needs no encoding. It is always false on systems without platformSupported.
func Supports(u *url.URL) bool {
	return platformSupported && u.Scheme == "http" && u.Host != "" &&
		!strings.ContainsFunc(u.Host, func(c rune) bool { return c <= ' ' || c > '~' || c == '%' })
}

const (
	// maxFirstWrite bounds the bytes of a request that are written before its response is
	// read. A request of this size fits into the buffers of a socket even if the server does
	// not read it.
	maxFirstWrite = 32 << 10
	maxPooled     = 2 * maxFirstWrite
)

// buffers holds the buffers of first writes.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// Do sends a request and returns the response, whatever its status. The caller closes the
// body. If ctx ends, the call ends, and Do and reads of the body return the cause of ctx.
// If no connection can be made, the error wraps the error of Options.Dial. By default,
// this is a *net.OpError whose Op is dial.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	buffer := buffers.Get().(*[]byte)
	first, err := r.appendHeader((*buffer)[:0])
	if err != nil {
		return nil, err
	}
	begin := min(len(r.Body), max(maxFirstWrite-len(first), 0))
	first = append(first, r.Body[:begin]...)
	defer func() {
		if cap(first) <= maxPooled {
			*buffer = first
			buffers.Put(buffer)
		}
	}()
	address := r.address()
	for {
		reused := c.pool.take(address)
		if reused == nil {
			break
		}
		resp, err := reused.roundTrip(ctx, first, r.Body[begin:])
		if errors.Is(err, errNotSent) {
			continue // the server closed the connection a moment ago
		}
		return resp, err
	}
	dialed, err := c.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return dialed.roundTrip(ctx, first, r.Body[begin:])
}

// CloseIdleConnections closes the connections without a request.
func (c *Client) CloseIdleConnections() { c.pool.close() }

func (c *Client) dial(ctx context.Context, address string) (*conn, error) {
	socket, err := c.options.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return newConn(address, socket, c.pool.put)
}

// Request is one request. The client does not modify it.
type Request struct {
	Method string
	URL    *url.URL
	// Header has the fields of the request. URL and Body determine the framing fields; as
	// in net/http, their values in Header are ignored.
	Header http.Header
	// Body is the body. If it is nil, the request has no Content-Length.
	Body []byte
}

// address returns the host and port to connect to.
func (r *Request) address() string {
	if r.URL.Port() != "" {
		return r.URL.Host
	}
	return net.JoinHostPort(r.URL.Hostname(), "80")
}

// isFraming reports whether a field determines the receiver or the length of a request, so
// that a second value would let two receivers see different requests (request smuggling).
func isFraming(name string) bool {
	return strings.EqualFold(name, "Host") || strings.EqualFold(name, "Content-Length") ||
		strings.EqualFold(name, "Transfer-Encoding") || strings.EqualFold(name, "Trailer")
}

// appendHeader appends the request line and the header fields, in alphabetical order of
// their names. It fails for a field that would break the framing of the request.
func (r *Request) appendHeader(dst []byte) ([]byte, error) {
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst = append(dst, r.URL.RequestURI()...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, strings.TrimSuffix(r.URL.Host, ":")...)
	dst = append(dst, "\r\n"...)
	var array [16]string
	names := array[:0]
	for name := range r.Header {
		if !isFraming(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("write request: header %q has a character that HTTP does not allow", name)
			}
			dst = append(dst, name...)
			dst = append(dst, ": "...)
			dst = append(dst, value...)
			dst = append(dst, "\r\n"...)
		}
	}
	if r.Body != nil {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(r.Body)), 10)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}

// maxBody bounds the body of a request that a transport reads into memory, in bytes.
const maxBody = 16 << 10

// transport sends requests with a short body or none by a Client, and all others by the
// wrapped transport.
type transport struct {
	*http.Transport

	client *Client
}

// Wrap returns a transport that sends requests over http by a Client if the length of their
// body is known and at most 16 KiB, and all others by t. The Client uses the dialer and the
// limits of t, whose MaxIdleConns and IdleConnTimeout must be set. t must have no Proxy.
func Wrap(t *http.Transport) http.RoundTripper {
	client := New(Options{Dial: t.DialContext, MaxIdle: t.MaxIdleConns, IdleTimeout: t.IdleConnTimeout})
	return &transport{Transport: responseheader.Bound(t), client: client}
}

// CloseIdleConnections closes the connections without a request.
func (t *transport) CloseIdleConnections() {
	t.client.CloseIdleConnections()
	t.Transport.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isShort(r) || !Supports(r.URL) {
		return t.Transport.RoundTrip(r)
	}
	body, err := readBody(r)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	response, err := t.client.Do(r.Context(), &Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body})
	if err != nil {
		return nil, err
	}
	response.Request = r
	return response, nil
}

// isShort reports whether a Client can send a request, with a body of at most maxBody
// bytes. A Client sends neither HEAD nor CONNECT, whose responses have special rules, nor a
// Host that differs from the URL, a trailer or "Connection: close".
func isShort(r *http.Request) bool {
	bounded := r.ContentLength >= 0 && r.ContentLength <= maxBody && (r.ContentLength > 0 || r.Body == nil || r.Body == http.NoBody)
	return bounded && r.Method != http.MethodHead && r.Method != http.MethodConnect &&
		(r.Host == "" || r.Host == r.URL.Host) && len(r.Trailer) == 0 && len(r.TransferEncoding) == 0 && !r.Close
}

// readBody returns the body of a short request, and nil if the request needs no
// Content-Length.
func readBody(r *http.Request) ([]byte, error) {
	switch {
	case r.ContentLength > 0:
		defer func() { _ = r.Body.Close() }()
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	case r.Method == http.MethodPost:
		return []byte{}, nil
	default:
		return nil, nil
	}
}
