// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc is the JSON-RPC 2.0 binding of every version that has one.
//
// A request is checked in this order: size, JSON, envelope, version, method,
// capability, params; then the engine judges existence and state. Who is
// calling was settled before. The package decodes, calls and encodes; it keeps
// no state between requests and knows no backend.
package jsonrpc

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Config is what a Handler needs. All fields are required.
type Config struct {
	Handler a2a.Handler
	// Card is the one that is served now: what it declares is what is taken.
	Card func() *card.Card
	// Streams says how streams behave.
	Streams sse.Config
	// MaxBody bounds a request's body, in bytes.
	MaxBody int64
	// Observe is told of each request once it is answered. Its arguments have
	// few values: method and version are "" when they are not known ones, code
	// is 0 for success.
	Observe func(method, version string, code int)
	Log     *slog.Logger
}

// Handler serves JSON-RPC requests by POST.
type Handler struct{ Config }

// New returns the handler.
func New(c Config) *Handler { return &Handler{Config: c} }

// call is one request on its way.
type call struct {
	// streams bounds writing; nil leaves that to the server.
	streams *sse.Config
	w       http.ResponseWriter
	r       *http.Request
	request request
	method  *method
	owner   a2a.Owner
	// status overrides that of the error, for failures of HTTP itself.
	status int
	// answered is true when nothing more can be written.
	answered bool
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{streams: &h.Streams, w: w, r: r, request: request{id: null}}
	err := h.serve(c) //nolint:contextcheck // the call carries its request
	name, label := "", ""
	if c.method != nil {
		name, label = c.method.name, c.method.dialect.label
	}
	if err == nil {
		h.Observe(name, label, 0)
		return
	}
	if gone(r.Context(), err) {
		return
	}
	problem := problemOf(err)
	if problem.Reason == a2a.ReasonInternal {
		h.Log.ErrorContext(r.Context(), "request", "method", name, "error", err)
	}
	h.Observe(name, label, outcomeOf(problem).code)
	if !c.answered {
		c.reject(problem)
	}
}

func (h *Handler) serve(c *call) error {
	body, release, err := h.body(c)
	defer release()
	if err != nil {
		return err
	}
	if c.request, err = parse(body); err != nil {
		return err
	}
	asked, ok := version.Of(c.r)
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
	found := methods[c.request.method]
	if found == nil {
		if !dialectV03.serves(asked) {
			return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
		}
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound}
	}
	c.method = found
	if !found.dialect.serves(asked) {
		return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
	caller, ok := auth.CallerFrom(c.r.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.owner = caller.Owner
	return found.serve(h, c)
}

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// bodyTimeout bounds how long a client may send its request.
const bodyTimeout = 30 * time.Second

// maxPooledBody keeps one large request from holding its memory for ever.
const maxPooledBody = 64 << 10

// body reads the request into pooled memory. Codecs copy what they keep.
func (h *Handler) body(c *call) (body []byte, release func(), err error) {
	release = func() {}
	if c.r.Method != http.MethodPost {
		c.w.Header().Set("Allow", http.MethodPost)
		c.status = http.StatusMethodNotAllowed
		return nil, release, invalid("Method must be POST")
	}
	if !acceptable(c.r.Header) {
		c.status = http.StatusUnsupportedMediaType
		return nil, release, invalid("Content-Type must be application/json")
	}
	if c.r.ContentLength > h.MaxBody {
		return nil, release, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	pooled := bodies.Get().(*[]byte)
	body = (*pooled)[:0]
	release = func() {
		if cap(body) <= maxPooledBody {
			*pooled = body
			bodies.Put(pooled)
		}
	}
	// A body may take its time, but not for ever.
	control := http.NewResponseController(c.w)
	// The server's own limit on writing is for answers that do not wait.
	_ = control.SetWriteDeadline(time.Time{})
	_ = control.SetReadDeadline(h.Streams.Now().Add(bodyTimeout))
	body, err = readAll(body, http.MaxBytesReader(c.w, c.r.Body, h.MaxBody), c.r.ContentLength)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, release, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	if err != nil {
		// The deadline stays, or the server would wait for the rest itself.
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late {
			c.status = http.StatusRequestTimeout
		}
		if ctxErr := c.r.Context().Err(); ctxErr != nil && !late {
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

// acceptable admits JSON. A request that a web page can send without asking
// first must not pass: it has another type, or none and an Origin.
func acceptable(h http.Header) bool {
	text := h.Get("Content-Type")
	if text == "" {
		return h.Get("Origin") == ""
	}
	mediaType, _, err := mime.ParseMediaType(text)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// Deny answers a request that was refused before it was read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	(&call{w: w, r: r, request: request{id: null}}).reject(problem)
}

// reject writes an error response.
func (c *call) reject(problem *a2a.Error) {
	status := cmp.Or(c.status, outcomeOf(problem).status)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		c.w.Header().Set("Retry-After", "1")
	}
	c.respond(status, appendError(nil, c.request.id, problem, c.detailed()))
}

// detailed says which form of error the client reads, as far as it is known.
func (c *call) detailed() bool {
	if c.method != nil {
		return c.method.dialect.detailed
	}
	asked, _ := version.Of(c.r)
	return asked == version.V10
}

func (c *call) respond(status int, body []byte) {
	c.answered = true
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	c.write(body)
}

// write gives each piece its time, so that a client which does not read is cut
// off, and a slow one is not.
func (c *call) write(body []byte) {
	const piece = 64 << 10
	control := http.NewResponseController(c.w)
	for len(body) > 0 {
		if c.streams != nil {
			_ = control.SetWriteDeadline(c.streams.Now().Add(c.streams.WriteTimeout))
		}
		n, err := c.w.Write(body[:min(len(body), piece)])
		if err != nil {
			return
		}
		body = body[n:]
	}
}

var responses = sync.Pool{New: func() any { return new([]byte) }}

// result writes a response around what appendTo appends.
func (c *call) result(appendTo func([]byte) []byte) {
	pooled := responses.Get().(*[]byte)
	body := append((*pooled)[:0], c.prefix()...)
	body = append(appendTo(body), '}')
	c.respond(http.StatusOK, body)
	if cap(body) <= maxPooledBody {
		*pooled = body
		responses.Put(pooled)
	}
}

// prefix is what stands before a result; a brace closes it.
func (c *call) prefix() []byte {
	dst := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":`)+len(c.request.id))
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, c.request.id...)
	return append(dst, `,"result":`...)
}
