// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// call is one call on its way.
type call struct {
	*http.Request
	w      *writer
	method *method
	// dialect and owner are known once the call has passed.
	dialect *dialect
	owner   a2a.Owner
	// extensions are in force.
	extensions []string
	// begun is true once the head was sent.
	begun bool
}

// errGone ends a call that can no longer be answered.
var errGone = errors.New("client is gone")

// head is what stands before a message: a flag that tells of compression, and
// its length.
const head = 5

// receive reads the request, which is one message in all calls.
func receive[R any](h *Handler, c *call, decode func([]byte) (R, error)) (r R, err error) {
	x := httpcall.Exchange{W: c.w, R: c.Request, Limits: h.Limits, Framing: head}
	body, err := x.Body()
	defer x.Release()
	if err != nil {
		return r, err
	}
	message, err := unframed(body)
	if err == nil {
		// Nobody waits for the answer.
		err = c.Context().Err()
	}
	if err != nil {
		return r, err
	}
	return decode(message)
}

// request reads the request of an operation, which has the extensions that it
// must.
func request[R any](h *Handler, c *call, decode func([]byte) (R, error)) (r R, err error) {
	if c.extensions, err = h.activate(c); err != nil {
		return r, err
	}
	return receive(h, c, decode)
}

func unframed(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "Request message is missing"}
	}
	if len(body) < head || body[0] > 1 {
		return nil, &a2a.Error{Reason: a2a.ReasonParse, Message: "Request is not framed as gRPC"}
	}
	if body[0] == 1 {
		return nil, errCompressed
	}
	if length := binary.BigEndian.Uint32(body[1:]); int64(length) != int64(len(body)-head) {
		return nil, &a2a.Error{Reason: a2a.ReasonParse, Message: "Request is not one whole message"}
	}
	return body[head:], nil
}

// errCompressed has the code that gRPC gives to encodings that are not known.
var errCompressed = &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Compression of requests is not supported"}

// begin sends the head, before a first message that may be long in coming.
func (c *call) begin() {
	if c.begun {
		return
	}
	c.begun = true
	c.head()
	c.w.WriteHeader(http.StatusOK)
}

// head sets what stands before every answer.
func (c *call) head() {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Grpc-Accept-Encoding", "identity")
}

// reply sends a message.
func (c *call) reply(message []byte) error {
	c.begin()
	var frame [head]byte
	binary.BigEndian.PutUint32(frame[1:], uint32(len(message))) //nolint:gosec // the log's events and answers are megabytes
	if _, err := c.w.Write(frame[:]); err != nil {
		return errGone
	}
	if _, err := c.w.Write(message); err != nil {
		return errGone
	}
	return nil
}

// answer sends the only message of an answer, of size bytes or so.
func (h *Handler) answer(c *call, size int, encode func() []byte) error {
	x := httpcall.Exchange{R: c.Request, Limits: h.Limits}
	release, err := x.Room(size)
	if err != nil {
		return err
	}
	defer release()
	return c.reply(encode())
}

// end sends the status, in a trailer or, when nothing was sent, as the whole
// answer.
func (c *call) end(s status) {
	h := c.w.Header()
	prefix := http.TrailerPrefix
	if !c.begun {
		prefix = ""
		c.head()
	}
	s.write(h, prefix)
	if !c.begun {
		c.w.WriteHeader(http.StatusOK)
	}
}

// withTimeout applies the deadline of a client.
func withTimeout(ctx context.Context, text string) (context.Context, context.CancelFunc, error) {
	if text == "" {
		return ctx, func() {}, nil
	}
	units := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': 1,
	}
	const maxDigits = 8
	digits := text[:len(text)-1]
	n, err := strconv.ParseUint(digits, 10, 32)
	unit := units[text[len(text)-1]]
	if err != nil || unit == 0 || len(digits) > maxDigits {
		return ctx, func() {}, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "grpc-timeout is not a number with a unit"}
	}
	// The longest is eleven thousand years, which no clock can add.
	const century = 100 * 365 * 24 * time.Hour
	limit := century
	if time.Duration(n) < century/unit {
		limit = time.Duration(n) * unit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

// The names of the metadata that lists extensions: that of 1.0, and that of 0.3
// before it.
const (
	extensions    = "A2a-Extensions"
	oldExtensions = "X-A2a-Extensions"
)

// activate returns the extensions that are in force, and echoes them under the
// name that the client used.
func (h *Handler) activate(c *call) ([]string, error) {
	name, asked := extensions, c.Header.Values(extensions)
	if old := c.Header.Values(oldExtensions); len(old) > 0 {
		if len(asked) == 0 {
			name = oldExtensions
		}
		asked = slices.Concat(asked, old)
	}
	activated, err := requestcheck.Activate(h.Card(), asked)
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return nil, &a2a.Error{Reason: c.dialect.lacksExtension, Message: problem.Message}
	}
	if len(activated) > 0 {
		c.w.Header().Set(name, strings.Join(activated, ", "))
	}
	return activated, err
}
