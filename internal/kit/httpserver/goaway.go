// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"encoding/binary"
	"time"
)

// goAway has an empty SETTINGS frame, because the server may not have sent its settings yet, and a GOAWAY frame without an error
// (RFC 9113 section 6.8). The id of the last stream follows the first goAwayID bytes.
const (
	goAway   = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	goAwayID = 2 * frameHeaderLength
)

// maxLeaving is how many closed HTTP/2 connections stay for lingerTime at a time.
const maxLeaving = 64

// closeForRoom closes a connection without waiting for the server. The client of an HTTP/2 connection learns which of its streams had
// no effect. Otherwise, it could not send their requests again. The table calls it, and the goroutine that reads when it notices first.
func (c *Conn) closeForRoom() {
	if !c.isHTTP2.Load() {
		_ = c.raw.Close() // below TLS, which would wait to send an alert
		return
	}
	if c.isLeaving.Swap(true) {
		return
	}
	leaving := &c.server.table.leaving
	if leaving.Add(1) > maxLeaving {
		leaving.Add(-1)
		_ = c.raw.Close()
		return
	}
	frames := []byte(goAway)
	binary.BigEndian.PutUint32(frames[goAwayID:], c.streams.read.Load())
	if c.secure != nil {
		go func() {
			_ = c.raw.SetWriteDeadline(time.Now().Add(headTimeout)) //nolint:forbidigo // a deadline of the machine
			_, _ = c.secure.Write(frames)
			c.leave()
		}()
		return
	}
	sendAtOnce(c.raw, frames)
	c.leave()
}

// leave ends what net/http does with a connection. The socket stays for lingerTime: requests that the client sends
// before it has read GOAWAY would otherwise fail.
func (c *Conn) leave() {
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	time.AfterFunc(lingerTime, func() {
		_ = c.raw.Close()
		c.server.table.leaving.Add(-1)
	})
}
