// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// call is the state of one call.
type call struct {
	// Request has the context of the call, with the deadline of the client.
	*http.Request
	w       *writer
	method  *method
	started time.Time
	// source is the request as the HTTP server received it. body is the request body that
	// connect reads instead of the body of source.
	source *http.Request
	body   body
	// conn is nil until connect has accepted the call.
	conn connect.StreamingHandlerConn
	// dialect and owner are set once the version and the caller are checked.
	dialect *dialect
	owner   a2a.Owner
	// extensions are the activated extensions.
	extensions []string
	// head is the memory for the frame head of a reply.
	head [frameHead]byte
}

// callKey is the key of the *call in the context of a request.
type callKey struct{}

// body is a request body that was read into memory.
type body struct{ bytes.Reader }

// Close implements io.Closer.
func (*body) Close() error { return nil }

var (
	// errGone ends a call whose client can no longer receive a response.
	errGone    = errors.New("client is gone")
	errFraming = &a2a.Error{Reason: a2a.ReasonParse, Message: "Request is not one whole gRPC message, encoded as grpc-encoding names"}
)

// frameHead is the length of the head of a message in its frame: one byte that is 1 if the
// message is compressed, and four bytes with the length of the message.
const frameHead = 5

// receive reads and decodes a request with a single message. It charges the memory for the
// message to the caller before it decompresses and decodes the message.
func receive[R any](h *Handler, c *call, decode func([]byte) (R, error)) (r R, err error) {
	x := httpcall.Call{W: c.w, R: c.source, Limits: h.Limits, Framing: frameHead}
	framed, err := x.Body()
	defer func() {
		if send, ok := any(r).(*a2a.SendRequest); ok && err == nil {
			if release := x.Decoded(); release != nil {
				send.Counted = sync.OnceFunc(release)
				context.AfterFunc(c.source.Context(), send.Counted)
			}
			return
		}
		x.Release()
	}()
	if err == nil {
		err = x.Charge(c.copied(int64(len(framed)), h.Limits.MaxBody()))
	}
	if err != nil {
		return r, err
	}
	if len(framed) == 0 {
		return r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "Request message is missing"}
	}
	c.body.Reset(framed)
	received := false
	err = c.receive(func(text []byte) (err error) {
		if c.body.Len() > 0 {
			return errFraming
		}
		received = true
		r, err = decode(text)
		return err
	})
	if err == nil && !received {
		// connect does not call the codec for a message without bytes.
		r, err = decode(nil)
	}
	return r, err
}

// copied returns the number of bytes of memory that connect needs to read the compressed message
// of a body, in addition to the cost of the body.
func (c *call) copied(body, maxBody int64) int64 {
	if c.Header.Get("Grpc-Encoding") == "" {
		return 0
	}
	// The buffer for the decompressed message doubles as it grows. The whole request costs at
	// most as much as the largest one that is not compressed.
	return max(0, min(2*body*maxInflation, memoryshare.BodyCost*(maxBody-body)))
}

// receive passes the next message of the client to m. Its error is the error of the context
// if the context has ended, io.EOF after the last message, or an *a2a.Error.
func (c *call) receive(m message) error {
	err := c.conn.Receive(&m)
	if err == nil {
		return c.Context().Err()
	}
	if gone := c.Context().Err(); gone != nil {
		return gone
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return problem
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return errFraming
}

// request activates extensions, and then reads the request of an operation. It fails if the
// client does not request an extension that the card requires.
func request[R any](h *Handler, c *call, decode func([]byte) (R, error)) (r R, err error) {
	if c.extensions, err = h.activate(c); err != nil {
		return r, err
	}
	return receive(h, c, decode)
}

// begin lets connect send the header of the response, before the first message.
func (c *call) begin() {
	if !c.w.begun {
		c.w.begun = true
		_ = c.conn.Send(nil)
	}
}

// beginLate sends the header of the response after sse.BeginAfter, unless the returned function was
// called before. Until that call, nothing else may use the response.
func (c *call) beginLate() (ready func()) {
	var mu sync.Mutex
	isReady := false
	timer := time.AfterFunc(sse.BeginAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !isReady {
			c.begin()
			c.w.flush()
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		isReady = true
	}
}

// reply sends a message. It returns errGone if a write fails. It writes the frame itself:
// connect would copy the bytes of the message, which all subscribers share.
func (c *call) reply(message []byte) error {
	c.begin()
	binary.BigEndian.PutUint32(c.head[1:], uint32(len(message))) //nolint:gosec // events and answers have megabytes
	if _, err := c.w.Write(c.head[:]); err != nil {
		return errGone
	}
	if _, err := c.w.Write(message); err != nil {
		return errGone
	}
	return nil
}

// answer sends a response with a single message. size is an estimate of its length, in
// bytes.
func (h *Handler) answer(c *call, size int, encode func() []byte) error {
	x := httpcall.Call{R: c.Request, Limits: h.Limits}
	release, err := x.ReserveAnswer(size)
	if err != nil {
		return err
	}
	defer release()
	return c.reply(encode())
}

// answerCost is the cost of a byte of a response: the response, and the copy that connect sends.
const answerCost = 2

// respond returns err if it is not nil. Otherwise, it sends the result that appendTo encodes.
func respond[R interface{ Size() int }](h *Handler, c *call, appendTo func([]byte, R) []byte, result R, err error) error {
	if err != nil {
		return err
	}
	size := encodedSize(result)
	return h.answer(c, answerCost*size, func() []byte { return appendTo(make([]byte, 0, size), result) })
}

// encodedSize estimates the bytes of an object in protobuf. Size is that of its JSON: a list of numbers has up to 5.5 times as many bytes.
func encodedSize(o interface{ Size() int }) int {
	size := o.Size()
	if of, ok := o.(interface{ EachValue(visit func(text []byte)) }); ok {
		of.EachValue(func(text []byte) {
			if len(text) > 0 {
				size += pbwire.MaxSize(text) - len(text)
			}
		})
	}
	return size
}

// The names of the metadata that lists extensions, in 1.0 and in 0.3.
const (
	extensions    = "A2a-Extensions"
	oldExtensions = "X-A2a-Extensions"
)

// activate returns the activated extensions. The response lists them under the metadata
// name that the client used.
func (h *Handler) activate(c *call) ([]string, error) {
	name := extensions
	asked := c.Header.Values(extensions)
	if old := c.Header.Values(oldExtensions); len(old) > 0 {
		if len(asked) == 0 {
			name = oldExtensions
		}
		asked = slices.Concat(asked, old)
	}
	return h.Activate(c.w.Header(), name, asked, c.dialect.lacksExtension)
}

// Config configures a Handler.
type Config struct {
	httpcall.Config
	// PublicCard returns the public card in a form. It is the response to GetAgentCard of
	// 0.3 if the agent has no extended card.
	PublicCard func(r *http.Request, form card.Form) ([]byte, error)
	// Serving reports whether the sidecar accepts new calls, for health checks.
	Serving func() bool
	// Profile returns the release of 1.0 that determines the codes of errors.
	Profile func() errormap.Profile
}

// Handler serves gRPC and gRPC-Web.
type Handler struct {
	Config
	// single serves methods with one request message. bidirectional serves methods whose
	// request may have several messages.
	single, bidirectional *connect.Handler
}

// method is one RPC.
type method struct {
	name string
	// operation is the name of the RPC in 1.0.
	operation a2a.Method
	dialect   *dialect
	serve     func(*Handler, *call) error
	// unversioned is true for the methods that do not belong to A2A: the health check,
	// reflection and the unknown method. For these, the binding checks neither the version
	// nor the caller.
	unversioned bool
	// streamsRequests is true if the request may have several messages.
	streamsRequests bool
}

// message is a function that receives the bytes of a message of a client. It must not keep
// the bytes after it has returned.
type message func([]byte) error

// maxInflation is the largest number of bytes to which DEFLATE expands one byte.
const maxInflation = 1032
