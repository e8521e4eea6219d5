// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc is the JSON-RPC 2.0 binding of all protocol versions.
//
// A request is checked in this order: size, JSON, envelope, version, method,
// capability, params; the engine checks existence and state of the task. The
// chain of handlers has authenticated the caller. The package keeps no state
// between requests and does not know the backend.
package jsonrpc

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Config configures a Handler. StrictVersion and RestartV01 are optional; nil is
// false. Their results may change at any time.
type Config struct {
	// Handler runs the operations on tasks. It has checked requests against the
	// card.
	Handler a2a.Handler
	// Push keeps push configurations.
	Push a2a.PushHandler
	// Card returns the card that is served now.
	Card func() *card.Card
	// ExtendedCard returns the extended card for the caller of r in a form. Its
	// error is an *a2a.Error if the agent has none or the caller may not have it.
	ExtendedCard func(r *http.Request, tenant string, form card.Form) ([]byte, error)
	// StrictVersion reports whether A2A-Version must be a version that has the
	// method: methods of 1.0 need it, and a client that names 1.0 has no others.
	StrictVersion func() bool
	// RestartV01 reports whether a message of 0.1 starts a task again that has ended.
	RestartV01 func() bool
	// Streams configures streams.
	Streams sse.Config
	// Limits bound requests and responses.
	Limits *httpcall.Limits
	// Observe is called once for each request that was answered.
	Observe func(httpcall.Outcome)
	Log     *slog.Logger
}

// Handler serves JSON-RPC requests by POST.
type Handler struct{ Config }

// New returns the handler.
func New(c Config) *Handler { return &Handler{Config: c} }

// on reports whether an option is on.
func (h *Handler) on(option func() bool) bool { return option != nil && option() }

// call is the state of one request.
type call struct {
	httpcall.Call
	request request
	resolution
	owner a2a.Owner
	// extensions are the activated extensions; missing is the error if a required
	// one is not among them.
	extensions []string
	missing    error
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Call: httpcall.Call{W: w, R: r, Limits: h.Limits}, request: request{id: null}}
	err := h.serve(c) //nolint:contextcheck // the call carries its request
	if errors.Is(err, sse.ErrParked) {
		c.W, c.R = nil, nil // the parked stream keeps the call
		return
	}
	if problem := c.outcome().Conclude(r.Context(), h.Log, h.Observe, err); problem != nil && !c.Answered {
		c.reject(problem)
	}
}

// outcome returns the outcome of a call that succeeds.
func (c *call) outcome() httpcall.Outcome {
	o := httpcall.Outcome{Binding: "jsonrpc"}
	if c.method != nil {
		o.Method, o.Version = c.method.name, c.dialect.label
	}
	return o
}

func (h *Handler) serve(c *call) error {
	if c.R.Method != http.MethodPost {
		c.W.Header().Set("Allow", http.MethodPost)
		c.Status = http.StatusMethodNotAllowed
		return invalid("Method must be POST")
	}
	if !httpcall.IsJSON(c.R.Header) {
		c.Status = http.StatusUnsupportedMediaType
		return &a2a.Error{Reason: a2a.ReasonContentTypeNotSupported, Message: "Content-Type must be application/json"}
	}
	body, err := c.Body()
	defer c.Release()
	if err != nil {
		return err
	}
	if c.request, err = parse(body); err != nil {
		return err
	}
	asked, readable := version.Of(c.R)
	if c.resolution, err = resolve(&c.request, asked, readable, h.on(h.StrictVersion)); err != nil {
		return err
	}
	caller, ok := auth.CallerFrom(c.R.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.owner = caller.Owner
	c.extensions, c.missing = h.activate(c)
	return c.method.serve(h, c)
}

// Deny answers a request that is refused before it is read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	c := &call{Call: httpcall.Call{W: w, R: r}, request: request{id: null}}
	c.asked, _ = version.Of(r)
	c.reject(problem)
}

// reject writes an error response. Its status is 200 unless the error is one of
// HTTP itself.
func (c *call) reject(problem *a2a.Error) {
	status := http.StatusOK
	if errormap.IsTransport(problem) {
		status = errormap.Lookup(problem, errormap.Profile101).HTTP
	}
	c.WriteError(problem, status, contentType, c.appendError(nil, c.dialect, problem))
}

const contentType = "application/json"

// result writes a response with the result that appendTo appends; size is an
// estimate of its bytes.
func (c *call) result(size int, appendTo func([]byte) []byte) error {
	return c.WriteResult(contentType, size, func(dst []byte) []byte {
		dst = append(dst, c.prefix()...)
		return append(appendTo(dst), '}')
	})
}

// prefix returns the part of a response before its result; a brace follows the
// result.
func (c *call) prefix() []byte {
	dst := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":`)+len(c.request.id))
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, c.request.id...)
	return append(dst, `,"result":`...)
}
