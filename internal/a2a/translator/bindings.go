// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"net/http"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// servedCard returns the card of a remote agent as the translator serves it. The card
// supports streaming even if the agent does not, and its only credential is the
// Authorization header, because the translator forwards no other one.
func servedCard(c *card.Card) *card.Card {
	out := *c
	out.Interfaces = nil
	out.Capabilities.Streaming = true
	out.Capabilities.PushNotifications = false
	out.Capabilities.ExtendedCard = false
	out.SecuritySchemes = slices.DeleteFunc(slices.Clone(c.SecuritySchemes), func(s card.SecurityScheme) bool {
		return s.Type == card.SchemeAPIKey || s.Type == card.SchemeMutualTLS
	})
	return &out
}

// newBindings returns the bindings of a link.
func (t *Translator) newBindings(l *link) bindings {
	current := func() *card.Card { return l.card }
	checked := &requestcheck.Handler{Handler: t.core.engine, Card: current}
	streams := sse.Config{KeepAlive: keepAlive, WriteTimeout: t.options.Limits.WriteTimeout, Now: t.options.Now}
	noExtended := func(*http.Request, string, card.Form) ([]byte, error) {
		return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
	}
	public := func(r *http.Request, form card.Form) ([]byte, error) {
		base, _ := r.Context().Value(baseKey{}).(string)
		return card.Render(l.card.At(card.Base{URL: base}), form)
	}
	shared := httpcall.Config{
		Handler: checked, Push: checked, Card: current, ExtendedCard: noExtended,
		Limits: t.options.Limits, Observe: func(ctx context.Context, o httpcall.Outcome) { gateway.Conclude(ctx, o.Reason, o.ClientLeft) }, Log: t.options.Log,
	}
	return bindings{
		rpc:  jsonrpc.New(jsonrpc.Config{Config: shared, Streams: streams}),
		rest: rest.New(rest.Config{Config: shared, Streams: streams, PublicCard: public}),
	}
}

// baseKey is the context key of the base URL of a request.
type baseKey struct{}

// serve answers a request for the link.
func (l *link) serve(w http.ResponseWriter, r *http.Request, base string) {
	switch {
	case isCard(r):
		serveCard(w, r, l.card, base)
	case r.URL.Path == "/":
		l.bindings.rpc.ServeHTTP(w, r)
	case rest.Owns(r):
		l.bindings.rest.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), baseKey{}, base)))
	default:
		rest.Deny(w, r, &a2a.Error{
			Reason: a2a.ReasonMethodNotFound,
			Message: "Path not found: JSON-RPC is at POST /, REST at /message:send, /tasks and, for 0.3, below /v1, the card at GET " +
				wellknown.Path + ", each below " + base,
		})
	}
}

func isCard(r *http.Request) bool {
	return r.URL.Path == wellknown.Path || r.URL.Path == wellknown.LegacyPath
}

// serveCard renders the card for the base URL of the request.
func serveCard(w http.ResponseWriter, r *http.Request, c *card.Card, base string) {
	h := &wellknown.Handler{}
	if err := h.Swap(wellknown.Content{Card: c.At(card.Base{URL: base})}); err != nil {
		Deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The card of the remote agent cannot be served"})
		return
	}
	h.ServeHTTP(w, r)
}

// Deny answers a request for an agent with an error in the shape of the request's protocol:
// gRPC, or REST of 1.0 or 0.3. The error for a card has the shape of REST of 1.0, and all
// other errors have the shape of JSON-RPC.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	switch {
	case grpc.Owns(r):
		grpc.Deny(w, r, problem)
	case isCard(r), rest.Owns(r):
		rest.Deny(w, r, problem)
	default:
		jsonrpc.Deny(w, r, problem)
	}
}
