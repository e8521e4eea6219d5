// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest is the HTTP+JSON binding of every version that has one: that of
// 1.0 at the root and below tenants, and under /v1 that of 0.2 and 0.3, in
// ProtoJSON or, for one project of that era, with kinds.
//
// A request is checked in this order: path, verb, content type, size, version,
// tenant, extensions, query, body; then the engine judges existence and state.
// Who is calling was settled before. The package decodes, calls and encodes; it
// keeps no state between requests and knows no backend.
package rest

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
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
	// PublicCard returns the card for everybody. Clients of 0.3 that ask for the
	// card of a caller get it where there is no extended one.
	PublicCard func(r *http.Request, form card.Form) ([]byte, error)
	// StrictVersion holds clients to A2A-Version by the letter: paths of 1.0 need
	// it, and a client that asks for 1.0 has no others. Nil is for never.
	StrictVersion func() bool
	// ErrorProfile names the release of 1.0 whose statuses errors have. Nil is
	// for the latest.
	ErrorProfile func() errormap.Profile
	// Streams says how streams behave.
	Streams sse.Config
	// Limits bound requests and answers.
	Limits *httpcall.Limits
	// Observe is told of each request once it is answered.
	Observe func(httpcall.Outcome)
	Log     *slog.Logger
}

// Handler serves the requests that it Owns.
type Handler struct{ Config }

// New returns the handler.
func New(c Config) *Handler {
	if c.StrictVersion == nil {
		c.StrictVersion = func() bool { return false }
	}
	if c.ErrorProfile == nil {
		c.ErrorProfile = func() errormap.Profile { return errormap.Profile101 }
	}
	return &Handler{Config: c}
}

// call is one request on its way.
type call struct {
	httpcall.Call
	target
	profile   errormap.Profile
	operation *operation
	// dialect is that of the path until more is known of the client.
	dialect *dialect
	// body is empty for verbs that have none.
	body       []byte
	query      *query
	owner      a2a.Owner
	extensions []string
}

func newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{Call: httpcall.Call{W: w, R: r}, dialect: dialectV10}
	c.target, _ = parse(r.URL.EscapedPath())
	if c.legacy {
		c.dialect = dialectV03
	}
	return c
}

// Deny answers a request that was refused before it was read.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) { newCall(w, r).reject(problem) }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := newCall(w, r)
	c.Limits = h.Limits
	c.profile = h.ErrorProfile()
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
	o := httpcall.Outcome{Binding: "rest"}
	if c.operation != nil {
		o.Method, o.Version = c.operation.name, c.dialect.label
	}
	return o
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
	// All requests are read, for that takes the bounds off a connection on which
	// an answer may take its time.
	body, err := c.Body()
	defer c.Release()
	if err != nil {
		return err
	}
	if c.body = body; c.R.Method != http.MethodPost {
		c.forget()
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
	if c.query = newQuery(c.R.URL.RawQuery); c.query.err != nil {
		return c.query.err
	}
	if err := h.activate(c); err != nil {
		return err
	}
	return c.operation.serve(h, c)
}

// find looks up the operation. Its answers depend on the path alone.
func (c *call) find() error {
	verbs := operations[c.resource]
	if verbs == nil {
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Path not found"}
	}
	if c.operation = verbs[c.R.Method]; c.operation == nil {
		allowed := strings.Join(slices.Sorted(maps.Keys(verbs)), ", ")
		c.W.Header().Set("Allow", allowed)
		c.Status = http.StatusMethodNotAllowed
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Method must be " + allowed}
	}
	return nil
}

// checkVersion refuses a client that asks for another version than that of the
// path.
func (h *Handler) checkVersion(c *call) error {
	asked, ok := version.Of(c.R)
	switch {
	case !ok:
	case slices.Contains(c.dialect.versions, asked):
		return nil
	case asked == version.Version{}:
		// By the letter that means 0.3, but it has none of the paths of 1.0.
		if c.legacy || !h.StrictVersion() {
			return nil
		}
	case asked == version.V10:
		// A client of 1.0 that talks an older version for compatibility may keep
		// its header.
		if !h.StrictVersion() {
			return nil
		}
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Path not found"}
	}
	return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
}

// check judges what the path names.
func (t *target) check() error {
	if len(t.task) > maxID {
		return a2a.InvalidParams("id", "is longer than 256 bytes")
	}
	if len(t.config) > maxID {
		return a2a.InvalidParams("configId", "is longer than 256 bytes")
	}
	return requestcheck.CheckTenant(t.tenant)
}

// within returns the tenant of a request that may name one beside the path.
func (c *call) within(named string) (string, error) {
	if c.legacy || named == "" {
		return c.tenant, nil
	}
	if c.tenant != "" && named != c.tenant {
		return "", a2a.InvalidParams("tenant", "is not the one of the path")
	}
	return named, requestcheck.CheckTenant(named)
}

// names checks that a body which names the task of the path again means the
// same.
func (c *call) names(field, id string) error {
	if id != "" && id != c.task {
		return a2a.InvalidParams(field, "is not the task of the path")
	}
	return nil
}

// activate settles which extensions are in force, and echoes them under the
// name that the client used.
func (h *Handler) activate(c *call) error {
	if c.operation.name == getExtendedCard {
		return nil
	}
	header := c.dialect.extensionsHeader
	activated, err := requestcheck.Activate(h.Card(), c.R.Header.Values(header))
	if problem, ok := errors.AsType[*a2a.Error](err); ok && c.legacy {
		// It has a code of its own in 1.0 only.
		return &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: problem.Message}
	}
	if len(activated) > 0 {
		c.W.Header().Set(header, strings.Join(activated, ", "))
	}
	c.extensions = activated
	return err
}

// reject writes an error.
func (c *call) reject(problem *a2a.Error) {
	c.WriteError(problem, c.status(problem), c.dialect.refusesIn(c.R.Header), c.appendError(nil, problem))
}

// result writes what appendTo appends, size bytes or so.
func (c *call) result(size int, appendTo func([]byte) []byte) error {
	return c.WriteResult(c.dialect.answersIn(c.R.Header), size, appendTo)
}
