// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exchange is one HTTP request and its answer, for the bindings over
// HTTP: a body that is read within bounds, and an answer that a client which
// does not read cannot hold up. It knows no method, no version and no error
// but those of HTTP.
package exchange

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/fault"
)

// Limits bound an exchange. All fields are required.
type Limits struct {
	// MaxBody bounds a request's body, in bytes.
	MaxBody int64
	// WriteTimeout bounds each write.
	WriteTimeout time.Duration
	Now          func() time.Time
}

// Outcome is what a request came to, for metrics. Its values are few: Method
// and Version are "" when they are not known ones.
type Outcome struct {
	// Binding is jsonrpc, rest or grpc.
	Binding string
	Method  string
	Version string
	// Code is that of JSON-RPC in all bindings, 0 for success.
	Code int
}

// Exchange is one request and its answer.
type Exchange struct {
	W http.ResponseWriter
	R *http.Request
	// Limits is nil for an answer to a request that was refused unread; its
	// writing is bounded by the server.
	Limits *Limits
	// Status overrides that of an error, for failures of HTTP itself.
	Status int
	// Answered is true when nothing more can be written.
	Answered bool
}

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// BodyTimeout bounds how long a client may send its request.
const BodyTimeout = 30 * time.Second

// maxPooled keeps one large request from holding its memory for ever.
const maxPooled = 64 << 10

// Body reads the request into pooled memory, which release gives back. Its
// errors are *a2a.Error, or the context's when the client left.
func (x *Exchange) Body() (body []byte, release func(), err error) {
	release = func() {}
	if x.R.ContentLength > x.Limits.MaxBody {
		return nil, release, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	pooled := bodies.Get().(*[]byte)
	body = (*pooled)[:0]
	release = func() {
		if cap(body) <= maxPooled {
			*pooled = body
			bodies.Put(pooled)
		}
	}
	// A body may take its time, but not for ever.
	control := http.NewResponseController(x.W)
	// The server's own limit on writing is for answers that do not wait.
	_ = control.SetWriteDeadline(time.Time{})
	_ = control.SetReadDeadline(x.Limits.Now().Add(BodyTimeout))
	body, err = readAll(body, http.MaxBytesReader(x.W, x.R.Body, x.Limits.MaxBody), x.R.ContentLength)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, release, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	if err != nil {
		// The deadline stays, or the server would wait for the rest itself.
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late {
			x.Status = http.StatusRequestTimeout
		}
		if ctxErr := x.R.Context().Err(); ctxErr != nil && !late {
			return nil, release, ctxErr
		}
		return nil, release, &a2a.Error{Reason: a2a.ReasonParse, Message: "Request body is incomplete"}
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, release, nil
}

// readAll appends what r holds. A declared length is believed up to a point.
func readAll(dst []byte, r io.Reader, length int64) ([]byte, error) {
	const trusted = 1 << 20
	if need := int(min(max(length, 0), trusted)) + 1; cap(dst) < need {
		dst = make([]byte, 0, need)
	}
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// JSON reports whether a request may hold JSON. One that a web page can send
// without asking first must not pass: it has another type, or none and an
// Origin.
func JSON(h http.Header) bool {
	text := h.Get("Content-Type")
	if text == "" {
		return h.Get("Origin") == ""
	}
	mediaType, _, err := mime.ParseMediaType(text)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// Refuse writes the answer to an error; status is the binding's for it.
func (x *Exchange) Refuse(status int, contentType string, body []byte) {
	status = cmp.Or(x.Status, status)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		if x.W.Header().Get("Retry-After") == "" {
			x.W.Header().Set("Retry-After", "1")
		}
	}
	if status == http.StatusUnauthorized {
		Challenge(x.W.Header())
	}
	x.Respond(status, contentType, body)
}

// Challenge says how to authenticate, as every 401 must; the gate may have said
// more of it.
func Challenge(h http.Header) {
	if h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="a2a"`)
	}
}

// Respond writes a whole answer.
func (x *Exchange) Respond(status int, contentType string, body []byte) {
	x.Answered = true
	h := x.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.W.WriteHeader(status)
	x.write(body)
}

var responses = sync.Pool{New: func() any { return new([]byte) }}

// Result writes the answer that appendTo appends to pooled memory.
func (x *Exchange) Result(contentType string, appendTo func([]byte) []byte) {
	pooled := responses.Get().(*[]byte)
	body := appendTo((*pooled)[:0])
	x.Respond(http.StatusOK, contentType, body)
	if cap(body) <= maxPooled {
		*pooled = body
		responses.Put(pooled)
	}
}

// write gives each piece its time, so that a client which does not read is cut
// off, and a slow one is not.
func (x *Exchange) write(body []byte) {
	const piece = 64 << 10
	control := http.NewResponseController(x.W)
	for len(body) > 0 {
		if x.Limits != nil {
			_ = control.SetWriteDeadline(x.Limits.Now().Add(x.Limits.WriteTimeout))
		}
		n, err := x.W.Write(body[:min(len(body), piece)])
		if err != nil {
			return
		}
		body = body[n:]
	}
}

// Gone reports whether there is nobody left to answer.
func Gone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// Code is what an error counts as in an Outcome.
func Code(problem *a2a.Error) int { return fault.Of(problem, fault.Profile101).Code }
