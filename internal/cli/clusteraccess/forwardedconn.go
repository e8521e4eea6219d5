// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// maxProblem bounds the kubelet's text about a failed connection, in bytes.
const maxProblem = 4096

// forwardedConn is a connection to a port of a pod. It ignores deadlines, because http.Transport sets none.
type forwardedConn struct {
	tunnel         httpstream.Connection
	data, problems httpstream.Stream
	closing        sync.Once
	// failed is closed when the error stream has ended. problem is then set if the kubelet reported a failure.
	failed  chan struct{}
	problem error
}

// watch reads the error stream of the connection, and sets problem if the kubelet reports a failure.
func (c *forwardedConn) watch() {
	text, _ := io.ReadAll(io.LimitReader(c.problems, maxProblem))
	if len(text) > 0 {
		c.problem = errors.New(string(text))
	}
	close(c.failed)
	if c.problem != nil {
		_ = c.data.Reset()
	}
}

// Read implements net.Conn. At the end of a connection that failed, it returns the reason of the kubelet in place of
// io.EOF.
func (c *forwardedConn) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if n == 0 && err != nil {
		return 0, c.explain(err)
	}
	return n, nil
}

// Write implements net.Conn.
func (c *forwardedConn) Write(p []byte) (int, error) {
	n, err := c.data.Write(p)
	if err != nil {
		return n, c.explain(err)
	}
	return n, nil
}

func (c *forwardedConn) explain(err error) error {
	select {
	case <-c.failed:
		if c.problem != nil {
			return c.problem
		}
	default:
	}
	return err
}

// Close ends the connection.
func (c *forwardedConn) Close() error {
	c.closing.Do(func() {
		_ = c.data.Reset()
		_ = c.problems.Reset()
		c.tunnel.RemoveStreams(c.data, c.problems)
	})
	return nil
}

// LocalAddr implements net.Conn.
func (c *forwardedConn) LocalAddr() net.Addr { return forwardedAddr{} }

// RemoteAddr implements net.Conn.
func (c *forwardedConn) RemoteAddr() net.Addr { return forwardedAddr{} }

// SetDeadline implements net.Conn, and does nothing.
func (c *forwardedConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn, and does nothing.
func (c *forwardedConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn, and does nothing.
func (c *forwardedConn) SetWriteDeadline(time.Time) error { return nil }

// forwardedAddr is the address of both ends of a forwardedConn.
type forwardedAddr struct{}

// Network implements net.Addr.
func (forwardedAddr) Network() string { return "portforward" }

func (forwardedAddr) String() string { return "pod" }
