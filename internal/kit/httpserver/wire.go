// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"net"
	"time"
)

// wire is the socket of a connection of TLS. During the handshake, the server waits for the client only while it reads.
type wire struct {
	net.Conn
	of *Conn
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (n int, err error) {
	c := w.of
	limit := maxHandshakeBytes
	if c.handshaken.Load() {
		limit = maxRecordBytes
	}
	if c.received >= limit {
		return 0, errTLSTooLong
	}
	p = p[:min(len(p), limit-c.received)]
	defer func() { c.received += n }()
	if c.handshaken.Load() {
		return w.Conn.Read(p)
	}
	c.rests()
	c.waitForClient()
	n, err = w.Conn.Read(p)
	if !c.haveRead() {
		return 0, errNoRoom
	}
	if err == nil {
		err = c.computes()
	}
	return n, err
}

// Write implements net.Conn. A handshake has few writes, each after all that the client had to send before, so a slow client cannot
// renew its time with them. After the handshake, TLS also writes while the server writes nothing, such as the response to a new key.
func (w *wire) Write(p []byte) (n int, err error) {
	if c := w.of; c.writeUntil.Load() > 0 && !c.isLeaving.Load() && !c.isClosed.Load() {
		if err := c.SetWriteDeadline(time.Now().Add(WriteTimeout)); err != nil { //nolint:forbidigo // a deadline of the machine
			return 0, err
		}
	}
	n, err = w.Conn.Write(p)
	if !w.of.handshaken.Load() {
		w.of.note()
	}
	return n, err
}

// handshake runs the TLS handshake, after the other handshakes of the source that are in excess of
// maxHandshakes have ended. The read deadline of the server bounds it.
func (c *Conn) handshake() error {
	if err := c.awaitTurn(); err != nil {
		return err
	}
	defer func() { <-c.source.handshakes }()
	defer c.rests()
	err := c.secure.HandshakeContext(context.Background()) // the read deadline and Close end it
	defer c.waitForClient()
	if err != nil {
		c.refusePlain(err)
		return err
	}
	c.note()
	c.handshaken.Store(true)
	return nil
}
