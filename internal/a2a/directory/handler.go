// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package directory serves a registry as an A2A agent, in every version of the protocol,
// over JSON-RPC and HTTP+JSON. It answers each message with a message and has no tasks.
//
// The gateway of a sidecar and the registry in the manager both serve this agent. The
// package therefore imports no engine, store, backend or client.
package directory

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// The paths of the cards.
const (
	CardPath       = wellknown.Path
	LegacyCardPath = wellknown.LegacyPath
	// ExtendedCardPath is the path from which clients of 0.2 read the extended card.
	ExtendedCardPath = wellknown.ExtendedPath
)

// keepAlive is the interval at which a comment is sent in a stream without events.
const keepAlive = 10 * time.Second

// ExtendedCard returns the extended card in a form for the caller of r. Its errors are
// *a2a.Error and the errors of r's context.
type ExtendedCard func(r *http.Request, form card.Form) ([]byte, error)

// Options configure a Handler. All fields are required except for ExtendedCard.
type Options struct {
	Registry Registry
	// Card is the public card without interfaces.
	Card *card.Card
	// Base returns the base URL of the agent for a request.
	Base func(*http.Request) card.Base
	// ExtendedCard renders the extended card. It is nil if the agent has none. It must be
	// set exactly if Card.Capabilities.ExtendedCard is true.
	ExtendedCard ExtendedCard
	// NotFound is the error for a path that the agent does not serve.
	NotFound *a2a.Error
	// Limits bound requests and responses.
	Limits *httpcall.Limits
	Log    *slog.Logger
	Now    func() time.Time
}

// Handler serves the agent. It creates its bindings for the first request that needs
// them.
type Handler struct {
	options  Options
	bindings func() *bindings
	// served caches the public card for the base of the last request.
	served atomic.Pointer[servedCard]
}

type bindings struct {
	rpc  *jsonrpc.Handler
	rest *rest.Handler
}

// servedCard is the public card at one base.
type servedCard struct {
	base    card.Base
	handler *wellknown.Handler
}

// New returns a handler.
func New(o Options) *Handler {
	h := &Handler{options: o}
	h.bindings = sync.OnceValue(h.newBindings)
	return h
}

func (h *Handler) newBindings() *bindings {
	current := func() *card.Card { return h.options.Card }
	checked := &requestcheck.Handler{Handler: answers{h.options.Registry}, Card: current}
	streams := sse.Config{KeepAlive: keepAlive, WriteTimeout: h.options.Limits.WriteTimeout, Now: h.options.Now}
	shared := httpcall.Config{
		Handler: checked, Push: checked, Card: current,
		ExtendedCard: func(r *http.Request, _ string, form card.Form) ([]byte, error) { return h.extended(r, form) },
		Limits:       h.options.Limits, Observe: func(context.Context, httpcall.Outcome) {}, Log: h.options.Log,
	}
	public := func(r *http.Request, form card.Form) ([]byte, error) {
		return card.Render(h.options.Card.At(h.options.Base(r)), form)
	}
	return &bindings{
		rpc:  jsonrpc.New(jsonrpc.Config{Config: shared, Streams: streams}),
		rest: rest.New(rest.Config{Config: shared, Streams: streams, PublicCard: public}),
	}
}

// ServeHTTP serves one request. The context of a request must have an auth.Caller. Only
// requests for the public card need none.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == CardPath || path == LegacyCardPath:
		h.ServeCard(w, r)
	case path == ExtendedCardPath && h.options.ExtendedCard != nil:
		h.ServeExtendedCard(w, r, card.FormV03)
	case path == "/" && r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.bindings().rpc.ServeHTTP(w, r)
	case rest.Owns(r):
		h.bindings().rest.ServeHTTP(w, r)
	default:
		rest.Deny(w, r, h.options.NotFound)
	}
}

// Deny answers a request with an error, in the shape of its binding.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	switch r.URL.Path {
	case "/":
		jsonrpc.Deny(w, r, problem)
	case LegacyCardPath, ExtendedCardPath:
		if seconds := int(problem.RetryAfter.Seconds()); seconds > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(seconds))
		}
		wellknown.Deny(w, r, problem)
	default:
		rest.Deny(w, r, problem)
	}
}

// ServeCard serves the public card.
func (h *Handler) ServeCard(w http.ResponseWriter, r *http.Request) {
	base := h.options.Base(r)
	served := h.served.Load()
	if served == nil || served.base != base {
		served = &servedCard{base, &wellknown.Handler{}}
		if err := served.handler.Swap(wellknown.Content{Card: h.options.Card.At(base)}); err != nil {
			h.options.Log.ErrorContext(r.Context(), "card of the directory not rendered", "error", err)
			rest.Deny(w, r, &a2a.Error{Reason: a2a.ReasonInternal})
			return
		}
		h.served.Store(served)
	}
	served.handler.ServeHTTP(w, r)
}

// ServeExtendedCard serves the extended card in a form to GET and HEAD. It is for the
// versions without a method that returns the extended card.
func (h *Handler) ServeExtendedCard(w http.ResponseWriter, r *http.Request, form card.Form) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method must be GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	text, err := h.extended(r, form)
	switch {
	case httpcall.ClientLeft(r.Context(), err):
		return
	case err != nil:
		problem := a2a.ErrorOf(err)
		if problem.Reason == a2a.ReasonInternal {
			h.options.Log.ErrorContext(r.Context(), "extended card of the directory not rendered", "error", err)
		}
		Deny(w, r, problem)
		return
	}
	httpcall.SetPrivate(w.Header())
	call := &httpcall.Call{W: w, R: r, Limits: h.options.Limits}
	err = call.WriteResult("application/json", len(text), func(dst []byte) []byte { return append(dst, text...) })
	if err != nil {
		Deny(w, r, a2a.ErrorOf(err))
	}
}

func (h *Handler) extended(r *http.Request, form card.Form) ([]byte, error) {
	if h.options.ExtendedCard == nil {
		return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: "The directory has no extended card"}
	}
	return h.options.ExtendedCard(r, form)
}
