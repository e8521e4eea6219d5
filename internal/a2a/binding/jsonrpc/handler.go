// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc is the JSON-RPC 2.0 binding of all protocol versions.
//
// The binding checks a request in this order: size, JSON, envelope, version, method,
// capability, params. The engine then checks the existence and the state of the task. The
// chain of handlers has authenticated the caller. The package holds no state between
// requests and does not depend on the backend.
package jsonrpc

import (
	"errors"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// New returns the handler.
func New(c Config) *Handler { return &Handler{Config: c} }

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Call: httpcall.Call{W: w, R: r, Limits: h.Limits}, request: request{id: null}, started: h.Limits.Now()}
	err := h.serve(c) //nolint:contextcheck // the call carries its request
	if errors.Is(err, sse.ErrParked) {
		c.W, c.R = nil, nil // the parked stream keeps the call
		return
	}
	if problem := c.outcome().Conclude(r.Context(), h.Log, h.Observe, err); problem != nil && !c.Answered {
		c.reject(problem)
	}
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
	if c.resolution, err = resolve(&c.request, asked, readable, h.IsStrict()); err != nil {
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

// Deny answers a request that is refused before its body is read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	c := &call{Call: httpcall.Call{W: w, R: r}, request: request{id: null}}
	c.asked, _ = version.Of(r)
	c.reject(problem)
}

// reject writes an error response. Its status is 200 unless IsTransport is true for the
// error.
func (c *call) reject(problem *a2a.Error) {
	status := http.StatusOK
	if errormap.IsTransport(problem) {
		status = errormap.Lookup(problem, errormap.Profile101).HTTP
	}
	c.WriteError(problem, status, contentType, c.appendError(nil, c.dialect, problem))
}
