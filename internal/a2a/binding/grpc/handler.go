// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grpc is the gRPC binding: the service of a2a.v1 for 0.2 and 0.3, and
// that of lf.a2a.v1 for 1.0, side by side.
//
// gRPC is a little framing over HTTP/2, which net/http has, so this is an
// http.Handler like every other binding, behind the same chain: who is calling
// was settled before. No message exists as a generated type; the codecs read and
// write bytes, and what subscribers share is those bytes. The package keeps no
// state between calls and knows no backend.
package grpc

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Config is what a Handler needs. All fields are required.
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
	// Serving reports whether new calls are taken, for health checks.
	Serving func() bool
	// Limits bound requests and each write.
	Limits *httpcall.Limits
	// StrictVersion holds clients to a2a-version by the letter.
	StrictVersion func() bool
	// Profile decides on the codes of statuses.
	Profile func() errormap.Profile
	// Observe is told of each call once it is answered.
	Observe func(httpcall.Outcome)
	Log     *slog.Logger
}

// Handler serves gRPC over HTTP/2.
type Handler struct{ Config }

// New returns the handler.
func New(c Config) *Handler { return &Handler{Config: c} }

const contentType = "application/grpc"

// Owns reports whether a request is one of gRPC: by its type, and in the only
// verb and version of HTTP that can carry it.
func Owns(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), contentType)
	return ok && r.Method == http.MethodPost && r.ProtoMajor == 2 && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// OwnsHealth reports whether a request is a health check, which asks no
// credential: those who route calls have none.
func OwnsHealth(r *http.Request) bool { return r.URL.Path == healthCheck && Owns(r) }

// ServeHTTP answers one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel, err := withTimeout(r.Context(), r.Header.Get("Grpc-Timeout"))
	defer cancel()
	c := &call{Request: r.WithContext(ctx), w: newWriter(w, h.Limits.WriteTimeout), method: methods[r.URL.Path]}
	if c.method == nil {
		c.method = unknown
	}
	if err == nil {
		err = h.run(c) //nolint:contextcheck // the call carries its request
	}
	if err = h.ended(c, err); err != nil { //nolint:contextcheck // the call carries its request
		problem := a2a.ErrorOf(err)
		if problem.Reason == a2a.ReasonUnauthenticated {
			httpcall.Challenge(c.w.Header(), c.Request)
		}
		c.end(statusOf(problem, h.Profile(), namesErrors(c.Request)))
	}
}

// run checks in the order of all bindings: version, method, then what the
// operation asks for.
func (h *Handler) run(c *call) error {
	if c.method.plain {
		return c.method.serve(h, c)
	}
	asked, ok := version.Of(c.Request)
	if !ok || !c.method.dialect.serves(asked, h.StrictVersion()) {
		return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
	caller, ok := auth.CallerFrom(c.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.dialect, c.owner = c.method.dialect, caller.Owner
	return c.method.serve(h, c)
}

// ended tells of a call that is over, and returns what its client is yet to be
// told. That it left, or that its deadline passed, is nobody's error and no end
// of the task.
func (h *Handler) ended(c *call, err error) error {
	if c.w.stalled.Load() {
		h.Log.InfoContext(c.Context(), "cut off stalled client", "method", c.method.name)
	}
	if gone := c.Context().Err(); gone != nil || errors.Is(err, errGone) {
		c.end(status{code: codeOf(gone)})
		return nil
	}
	outcome := httpcall.Outcome{Binding: "grpc"}
	if c.dialect != nil {
		outcome.Method, outcome.Version = c.method.name, c.dialect.label
	}
	if err == nil {
		c.end(status{})
		h.Observe(outcome)
		return nil
	}
	if errors.Is(err, a2a.ErrSlowSubscriber) {
		h.Log.InfoContext(c.Context(), "cut off stalled stream", "method", c.method.name)
	}
	problem := a2a.ErrorOf(err)
	if problem.Reason == a2a.ReasonInternal {
		h.Log.ErrorContext(c.Context(), "request", "method", c.method.name, "error", err)
	}
	outcome.Code = httpcall.Code(problem)
	h.Observe(outcome)
	return err
}
