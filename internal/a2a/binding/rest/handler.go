// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest is the HTTP+JSON binding. It serves 1.0 at the root and below tenants, and
// 0.2 and 0.3 under /v1. Objects are in ProtoJSON or, for one project of 0.3, have a member
// kind.
//
// The binding checks a request in this order: path, verb, content type, size, version,
// tenant, extensions, query, body. The engine then checks the existence and the state of
// the task. The chain of handlers authenticates the caller before it calls the binding. The
// package holds no state between requests and does not depend on the backend.
package rest

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// New returns the handler.
func New(c Config) *Handler {
	if c.ErrorProfile == nil {
		c.ErrorProfile = func() errormap.Profile { return errormap.Profile101 }
	}
	return &Handler{Config: c}
}

func newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{Call: httpcall.Call{W: w, R: r}, dialect: dialectV10}
	c.target, _ = parse(r.URL.EscapedPath())
	if c.legacy {
		c.dialect = dialectV03
	}
	return c
}

// Deny answers a request that is refused before its body is read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) { newCall(w, r).reject(problem) }

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := newCall(w, r)
	c.Limits = h.Limits
	c.started = h.Limits.Now()
	c.profile = h.ErrorProfile()
	err := h.serve(c)
	if errors.Is(err, sse.ErrParked) {
		c.W = nil
		c.R = nil // the parked stream keeps the call
		return
	}
	if problem := c.outcome().Conclude(r.Context(), h.Log, h.Observe, err); problem != nil && !c.Answered {
		c.reject(problem)
	}
}

func (h *Handler) serve(c *call) error {
	if err := c.find(); err != nil {
		return err
	}
	if c.R.Method == http.MethodPost && !httpcall.IsJSON(c.R.Header) {
		c.Status = http.StatusUnsupportedMediaType
		return &a2a.Error{
			Reason:  a2a.ReasonContentTypeNotSupported,
			Message: "Content-Type must be application/json or application/a2a+json",
		}
	}
	// The body of every request is read, because Body removes the deadlines of the server,
	// which would end a late response.
	body, err := c.Body()
	defer c.Release()
	if err != nil {
		return err
	}
	c.body = body
	if c.R.Method != http.MethodPost {
		c.releaseBody()
	}
	if c.legacy && speaksKind(c.body) {
		c.dialect = dialectKind
	}
	if err := h.checkVersion(c); err != nil {
		return err
	}
	caller, ok := auth.CallerFrom(c.R.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.owner = caller.Owner
	if err := c.check(); err != nil {
		return err
	}
	c.query = newQuery(c.R.URL.RawQuery)
	if c.query.err != nil {
		return c.query.err
	}
	// The extended card needs no extension, because clients learn from it which ones are required.
	if c.operation.name != a2a.MethodGetExtendedCard {
		name := c.dialect.extensionsHeader
		c.extensions, err = h.Activate(c.W.Header(), name, c.R.Header.Values(name), c.dialect.lacksExtension)
		if err != nil {
			return err
		}
	}
	return c.operation.serve(h, c)
}

// find looks up the operation by path and verb.
func (c *call) find() error {
	verbs := operations[c.resource]
	if verbs == nil {
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Path not found"}
	}
	c.operation = verbs[c.R.Method]
	if c.operation == nil {
		allowed := strings.Join(slices.Sorted(maps.Keys(verbs)), ", ")
		c.W.Header().Set("Allow", allowed)
		c.Status = http.StatusMethodNotAllowed
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Method must be " + allowed}
	}
	return nil
}

// checkVersion returns an error if the client names a version to which the path does not
// belong.
func (h *Handler) checkVersion(c *call) error {
	asked, ok := version.Of(c.R)
	switch {
	case !ok:
	case slices.Contains(c.dialect.versions, asked):
		return nil
	case asked == version.Version{}:
		// By the specification, a client that names no version uses 0.3, which has no paths
		// of 1.0.
		if c.legacy || !h.IsStrict() {
			return nil
		}
	case asked == version.V10:
		// Clients of 1.0 send the header of 1.0 even if they use a path of an older
		// version.
		if !h.IsStrict() {
			return nil
		}
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Path not found"}
	}
	return c.otherVersion(asked, ok)
}

// otherVersion returns the error for a path of another version than the client names. known is false
// if the client names an invalid version.
func (c *call) otherVersion(asked version.Version, known bool) *a2a.Error {
	problem := &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	switch {
	case !known:
	case !c.legacy && (asked == version.Version{} || slices.Contains(dialectV03.versions, asked)):
		problem.Versions = version.Join(c.dialect.versions)
		problem.Message = "This path is of A2A 1.0; in 0.3, it is " + c.legacyPath()
	case asked == version.V01:
		problem.Versions = version.Join(c.dialect.versions)
		problem.Message = "A2A 0.1 has JSON-RPC only; send requests by POST to /"
	}
	return problem
}

// legacyPath returns the path in 0.3 of a path in 1.0.
func (c *call) legacyPath() string {
	if c.resource == agentCard {
		return "/v1/card"
	}
	path := c.R.URL.EscapedPath()
	if c.tenant != "" {
		_, rest, _ := strings.Cut(path[1:], "/")
		path = "/" + rest
	}
	return "/v1" + path
}

// check checks the ids and the tenant of the path.
func (t *target) check() error {
	if len(t.task) > maxID {
		return a2a.InvalidParams("id", "is longer than 256 bytes")
	}
	if len(t.config) > maxID {
		return a2a.InvalidParams("configId", "is longer than 256 bytes")
	}
	return requestcheck.CheckTenant(t.tenant)
}

// reject writes an error response.
func (c *call) reject(problem *a2a.Error) {
	c.WriteError(problem, c.status(problem), c.dialect.refusesIn(c.R.Header), c.appendError(nil, problem))
}
