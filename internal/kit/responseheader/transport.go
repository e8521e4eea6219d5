// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package responseheader

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// Bound sets the limits in a transport and returns it. From then on, the transport uses HTTP/1.1 only and its responses have no TLS; State
// returns the TLS of a connection. The transport must have no proxy.
func Bound(t *http.Transport) *http.Transport {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	secure := t.DialTLSContext
	if secure == nil {
		secure = func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, t, dial, network, address)
		}
	}
	t.MaxResponseHeaderBytes = MaxBytes
	t.DialContext = bounded(dial)
	t.DialTLSContext = bounded(secure)
	return t
}

// dialTLS connects with TLS by the settings of a transport.
func dialTLS(ctx context.Context, t *http.Transport, dial dialer, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	raw, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.TLSClientConfig != nil {
		settings = t.TLSClientConfig.Clone()
	}
	if settings.ServerName == "" {
		settings.ServerName = host
	}
	if t.TLSHandshakeTimeout > 0 {
		limited, cancel := context.WithTimeout(ctx, t.TLSHandshakeTimeout)
		defer cancel()
		ctx = limited
	}
	conn, err := tlslimits.Client(ctx, raw, settings)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// bounded returns a dialer of connections that bound the headers of responses.
func bounded(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return Conn(made), nil
	}
}

// Conn returns a connection that fails if the header of a response exceeds a limit.
func Conn(c net.Conn) net.Conn { return &conn{Conn: c} }

// conn meters the headers of responses.
type conn struct {
	net.Conn

	// hasWritten is true if a part of a request was written since the last response began.
	hasWritten atomic.Bool
	// meter belongs to the one goroutine that reads.
	meter Meter
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.hasWritten.Store(true)
	return c.Conn.Write(p)
}

// Read implements net.Conn. A response can begin after each write: the rest of a request may also be written after the beginning of its response,
// and what is then read begins no header.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.meter.isReading && n > 0 && c.hasWritten.Swap(false) && strings.HasPrefix(protocol, string(p[:min(n, len(protocol))])) {
		c.meter.Begin()
	}
	if tooLong := c.meter.Add(p[:n]); tooLong != nil {
		return 0, tooLong
	}
	return n, err
}

// State returns the TLS of a connection of a bounded transport, nil without TLS.
func State(c net.Conn) *tls.ConnectionState {
	own, ok := c.(*conn)
	if !ok {
		return nil
	}
	secure, ok := own.Conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	state := secure.ConnectionState()
	return &state
}
