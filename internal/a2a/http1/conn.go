// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

// maxInformational bounds the informational responses (1xx) to one request.
const maxInformational = 5

var (
	errNotSent  = errors.New("the connection was closed before the request was sent")
	errUpgraded = errors.New("the server switched protocols, which the request did not ask for")
)

// conn is one connection. One call at a time uses it.
type conn struct {
	address string
	socket  net.Conn
	raw     syscall.RawConn
	reader  *bufio.Reader
	// header bounds the header of a response.
	header responseheader.Meter
	// put stores the connection for another call.
	put func(*conn)
	// lastUsed is zero until the first call has ended.
	lastUsed time.Time

	// ctx is the context of the call. If it ends before unbind is called, the socket is
	// closed.
	ctx    context.Context //nolint:containedctx // it lasts as long as the call
	unbind func() bool
	// sent is closed when the rest of a long request was written. It is nil for a short
	// request.
	sent chan struct{}
}

func newConn(address string, socket net.Conn, put func(*conn)) (*conn, error) {
	made := &conn{address: address, socket: socket, put: put}
	made.reader = bufio.NewReader(made)
	withDescriptor, ok := socket.(syscall.Conn)
	if !ok {
		_ = socket.Close()
		return nil, fmt.Errorf("use socket: %T has no file descriptor", socket)
	}
	var err error
	if made.raw, err = withDescriptor.SyscallConn(); err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("use socket: %w", err)
	}
	return made, nil
}

// Read implements io.Reader for the buffer.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.socket.Read(p)
	if tooLong := c.header.Add(p[:n]); tooLong != nil {
		return 0, tooLong
	}
	return n, err
}

// roundTrip writes a request in two parts, first and rest, and reads the header of its
// response. It returns errNotSent if it could write no byte to a reused connection. The
// server has then closed the connection, and the caller sends the request on another one.
func (c *conn) roundTrip(ctx context.Context, first, rest []byte) (*http.Response, error) {
	reused := !c.lastUsed.IsZero()
	c.ctx = ctx
	c.sent = nil
	c.unbind = context.AfterFunc(ctx, func() { _ = c.socket.Close() })
	n, writeErr := c.write(first, rest)
	if writeErr != nil && n == 0 && reused && ctx.Err() == nil {
		c.release(false)
		return nil, errNotSent
	}
	// The response is read even after a failed write: a server that rejects a request may
	// respond, and close the connection before it has read all of the request.
	resp, err := c.readHeader()
	if err != nil {
		err = c.cause(errors.Join(writeErr, err))
		c.release(false)
		return nil, err
	}
	reusable := writeErr == nil && !resp.Close
	if resp.Body == http.NoBody {
		c.release(reusable)
		return resp, nil
	}
	resp.Body = &body{conn: c, reader: resp.Body, reusable: reusable}
	return resp, nil
}

// write writes the first bytes of a request, and starts a goroutine that writes the rest.
func (c *conn) write(first, rest []byte) (int, error) {
	n, err := c.socket.Write(first)
	if err == nil && len(rest) > 0 {
		// Another goroutine writes the rest. A server may respond and stop reading before it has
		// read the rest, and a write on this goroutine would then prevent reading the response.
		sent := make(chan struct{})
		c.sent = sent
		go func() {
			defer close(sent)
			if _, err := c.socket.Write(rest); err != nil {
				return // the response, or the error of reading it, shows why the write failed
			}
		}()
	}
	return n, err
}

// readHeader reads the header of the final response, and skips informational ones.
func (c *conn) readHeader() (*http.Response, error) {
	c.header.Begin()
	for range maxInformational + 1 {
		resp, err := http.ReadResponse(c.reader, nil)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read response header: %w", err)
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errUpgraded
		case resp.StatusCode >= http.StatusOK:
			return resp, nil
		}
	}
	return nil, errors.New("too many informational responses")
}

// cause returns the cause of the context if the context of the call has ended, and err
// otherwise.
func (c *conn) cause(err error) error {
	return cmp.Or(context.Cause(c.ctx), err)
}

// release ends a call. reusable is true if the response was read to its end and the server
// keeps the connection open. If the whole request was written, too, and the context has not
// ended, release returns the connection to the pool. Otherwise, it closes the connection.
func (c *conn) release(reusable bool) {
	reusable = c.unbind() && reusable && c.reader.Buffered() == 0
	if c.sent != nil {
		select {
		case <-c.sent:
		default:
			reusable = false
			_ = c.socket.Close()
			<-c.sent
		}
	}
	c.ctx = nil
	if reusable {
		c.put(c)
		return
	}
	_ = c.socket.Close()
}

// body is the body of a response. The end of the body releases the connection.
type body struct {
	conn *conn
	// reader is the body of http.ReadResponse, which detects the end of the body.
	reader   io.Reader
	reusable bool
	// ended is the error of all reads after the end or Close, nil before.
	ended error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	n, err := b.reader.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(io.EOF, b.reusable)
	case err != nil:
		err = b.conn.cause(err)
		b.end(err, false)
	}
	return n, err
}

// Close implements io.Closer. It does not wait for the rest of the body. If the body was
// not read to its end, it closes the connection.
func (b *body) Close() error {
	if b.ended == nil {
		b.end(http.ErrBodyReadAfterClose, false)
	}
	return nil
}

func (b *body) end(err error, reusable bool) {
	b.ended = err
	b.conn.release(reusable)
}
