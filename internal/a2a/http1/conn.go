// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"
)

// maxInformational bounds the answers of 1xx before the one that counts.
const maxInformational = 5

var (
	errUnsent   = errors.New("the connection was closed before anything was sent on it")
	errHeader   = errors.New("the head of the answer is too long")
	errUpgraded = errors.New("the server switched protocols, which was not asked for")
)

// conn is one connection. One call has it at a time.
type conn struct {
	client  *Client
	address string
	socket  net.Conn
	raw     syscall.RawConn
	reader  *bufio.Reader
	// room is how many bytes may be read before the head of an answer ends.
	room int
	// since is when it was last used; it was used before unless that is zero.
	since time.Time

	// ctx is that of the call, and unbind takes its hand off the connection.
	ctx    context.Context //nolint:containedctx // it lives as long as the call
	unbind func() bool
	// sent closes when the rest of a long request was written; nil for none.
	sent chan struct{}
}

func newConn(c *Client, address string, socket net.Conn) (*conn, error) {
	made := &conn{client: c, address: address, socket: socket}
	made.reader = bufio.NewReader(made)
	var err error
	if made.raw, err = socket.(*net.TCPConn).SyscallConn(); err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("use socket: %w", err)
	}
	return made, nil
}

// Read implements io.Reader for the buffer.
func (c *conn) Read(p []byte) (int, error) {
	if c.room <= 0 {
		return 0, errHeader
	}
	n, err := c.socket.Read(p[:min(len(p), c.room)])
	c.room -= n
	return n, err //nolint:wrapcheck // io.EOF must be itself
}

// call writes a request and reads the head of its answer.
func (c *conn) call(ctx context.Context, first, rest []byte) (*http.Response, error) {
	reused := !c.since.IsZero()
	c.ctx, c.sent = ctx, nil
	c.unbind = context.AfterFunc(ctx, func() { _ = c.socket.Close() })
	n, writeErr := c.send(first, rest)
	if writeErr != nil && n == 0 && reused && ctx.Err() == nil {
		c.end(false)
		return nil, errUnsent
	}
	// A server that refuses a request may close before it has read all of it.
	resp, err := c.answer()
	if err != nil {
		err = c.fault(errors.Join(writeErr, err))
		c.end(false)
		return nil, err
	}
	again := writeErr == nil && !resp.Close
	if resp.Body == http.NoBody {
		c.end(again)
		return resp, nil
	}
	resp.Body = &body{conn: c, read: resp.Body, again: again}
	return resp, nil
}

// send writes the request, or begins to.
func (c *conn) send(first, rest []byte) (int, error) {
	n, err := c.socket.Write(first)
	if err == nil && len(rest) > 0 {
		// The answer may come first, and be a reason to read no further.
		sent := make(chan struct{})
		c.sent = sent
		go func() {
			defer close(sent)
			if _, err := c.socket.Write(rest); err != nil {
				return // the answer tells why, or its end does
			}
		}()
	}
	return n, err //nolint:wrapcheck // joined by the caller
}

// answer reads the head that counts.
func (c *conn) answer() (*http.Response, error) {
	c.room = c.client.options.MaxHeader
	for range maxInformational + 1 {
		resp, err := http.ReadResponse(c.reader, nil)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the answer's head: %w", err)
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errUpgraded
		case resp.StatusCode >= http.StatusOK:
			c.room = math.MaxInt
			return resp, nil
		}
	}
	return nil, errors.New("too many informational answers")
}

// fault is why reading failed: the end of the call, if that is what it was.
func (c *conn) fault(err error) error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	return err
}

// end is the end of a call. again is true when the answer was read to its end
// and the server keeps the connection.
func (c *conn) end(again bool) {
	again = c.unbind() && again && c.reader.Buffered() == 0
	if c.sent != nil {
		select {
		case <-c.sent:
		default:
			again = false
			_ = c.socket.Close()
			<-c.sent
		}
	}
	c.ctx = nil
	if again {
		c.client.keep(c)
		return
	}
	_ = c.socket.Close()
}

// body is that of an answer. It gives the connection back.
type body struct {
	conn *conn
	// read is net/http's, which knows where it ends.
	read  io.Reader
	again bool
	// over is what all reading returns from here on.
	over error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	n, err := b.read.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(io.EOF, b.again)
	case err != nil:
		err = b.conn.fault(err)
		b.end(err, false)
	}
	return n, err //nolint:wrapcheck // io.EOF must be itself
}

// Close implements io.Closer. What was not read is not waited for.
func (b *body) Close() error {
	if b.over == nil {
		b.end(http.ErrBodyReadAfterClose, false)
	}
	return nil
}

func (b *body) end(over error, again bool) {
	b.over = over
	b.conn.end(again)
}
