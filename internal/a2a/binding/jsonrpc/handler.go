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

// Config is what a Handler needs. All fields but the options are required.
type Config struct {
	// Handler has passed what the card rules out.
	Handler a2a.Handler
	Push    a2a.PushHandler
	// Card is the one that is served now: what it declares is what is taken.
	Card func() *card.Card
	// ExtendedCard returns the card for a caller who is known, in a version's
	// form. Its error is an *a2a.Error where there is none.
	ExtendedCard func(r *http.Request, tenant string, form card.Form) ([]byte, error)
	// StrictVersion holds clients to A2A-Version by the letter: methods of 1.0
	// need it, and a client that asks for 1.0 has no others. Nil is false, as
	// it is below; the answer may change at any time.
	StrictVersion func() bool
	// RestartV01 lets a client of 0.1 send a message to a task that has ended,
	// which starts a new run of it.
	RestartV01 func() bool
	// Streams says how streams behave.
	Streams sse.Config
	// Limits bound requests and answers.
	Limits *httpcall.Limits
	// Observe is told of each request once it is answered.
	Observe func(httpcall.Outcome)
	Log     *slog.Logger
}

// Handler serves JSON-RPC requests by POST.
type Handler struct{ Config }

// New returns the handler.
func New(c Config) *Handler { return &Handler{Config: c} }

// on reports whether an option is.
func (h *Handler) on(option func() bool) bool { return option != nil && option() }

// call is one request on its way.
type call struct {
	httpcall.Call
	request request
	// asked is the version that the client names; garbled is true when that is
	// none.
	asked   version.Version
	garbled bool
	method  *method
	// dialect is that of the method until more is known of the client.
	dialect *dialect
	// unsure is true while the client may as well be one of 0.1.
	unsure bool
	owner  a2a.Owner
	// extensions are in force; lacking is the complaint that a required one is
	// not.
	extensions []string
	lacking    error
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Call: httpcall.Call{W: w, R: r, Limits: h.Limits}, request: request{id: null}}
	err := h.serve(c) //nolint:contextcheck // the call carries its request
	if errors.Is(err, sse.ErrParked) {
		c.W, c.R = nil, nil // its stream has the call, and for long
		return
	}
	if problem := c.outcome().Conclude(r.Context(), h.Log, h.Observe, err); problem != nil && !c.Answered {
		c.reject(problem)
	}
}

// outcome is that of a call that succeeds.
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
	if err := h.find(c); err != nil {
		return err
	}
	if c.request.unmarked && c.dialect == dialectV10 {
		return errUnmarked()
	}
	caller, ok := auth.CallerFrom(c.R.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.owner = caller.Owner
	c.extensions, c.lacking = h.activate(c)
	return c.method.serve(h, c)
}

// Deny answers a request that was refused before it was read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	c := &call{Call: httpcall.Call{W: w, R: r}, request: request{id: null}}
	c.asked, _ = version.Of(r)
	c.reject(problem)
}

// reject writes an error response. Only failures of HTTP itself have a status
// that says so.
func (c *call) reject(problem *a2a.Error) {
	status := http.StatusOK
	if errormap.IsTransport(problem) {
		status = errormap.Lookup(problem, errormap.Profile101).HTTP
	}
	c.WriteError(problem, status, contentType, c.appendError(nil, problem))
}

const contentType = "application/json"

// result writes a response around what appendTo appends, size bytes or so.
func (c *call) result(size int, appendTo func([]byte) []byte) error {
	return c.WriteResult(contentType, size, func(dst []byte) []byte {
		dst = append(dst, c.prefix()...)
		return append(appendTo(dst), '}')
	})
}

// prefix is what stands before a result; a brace closes it.
func (c *call) prefix() []byte {
	dst := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":`)+len(c.request.id))
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, c.request.id...)
	return append(dst, `,"result":`...)
}
