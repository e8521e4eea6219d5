// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tlslimits

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

const (
	// maxHandshakeBytes is how much a server may send until the handshake ends, and maxRecordBytes how much is then read for the
	// application data of one record of up to 16 KiB: session tickets may come before it.
	maxHandshakeBytes = 48 << 10
	maxRecordBytes    = 32 << 10
	// maxChain is the maximum number of certificates of a server, and maxChainBytes that of what they cost.
	maxChain      = 10
	maxChainBytes = 512 << 10
)

var (
	// ErrTooLong is the error of a server that sends more than a handshake or a record may have.
	ErrTooLong = errors.New("the server sends more than 48 KiB in its TLS handshake, or more than 32 KiB in a record")
	// ErrChain is the error of a server with too many certificates.
	ErrChain = errors.New("the server sends more than 10 certificates, or certificates with too many names")
)

// Conn is a TLS connection to a server.
type Conn struct {
	*tls.Conn
	wire *wire
}

// Client makes the handshake with a server on a connection, which it closes if the handshake fails.
func Client(ctx context.Context, raw net.Conn, config *tls.Config) (*Conn, error) {
	inner := config.VerifyConnection
	config = config.Clone()
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > maxChain || Cost(state.PeerCertificates) > maxChainBytes {
			return ErrChain
		}
		if inner != nil {
			return inner(state)
		}
		return nil
	}
	w := &wire{Conn: raw}
	w.left.Store(maxHandshakeBytes)
	secure := tls.Client(w, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &Conn{secure, w}, nil
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.wire.left.Store(maxRecordBytes)
	return c.Conn.Read(p)
}

// wire is the connection below TLS. Its reads fail once nothing is left of the limit.
type wire struct {
	net.Conn
	left atomic.Int64
}

// NetConn returns the connection below.
func (w *wire) NetConn() net.Conn { return w.Conn }

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	left := w.left.Load()
	if left <= 0 {
		return 0, ErrTooLong
	}
	n, err := w.Conn.Read(p[:min(int64(len(p)), left)])
	w.left.Add(-int64(n))
	return n, err
}
