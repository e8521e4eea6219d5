// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
)

// surface is one of the ways in at the A2A endpoint.
type surface struct {
	// binding names it in metrics.
	binding string
	// owns reports whether a request is its. It sees the path and the head only.
	owns func(*http.Request) bool
	// serve answers. Unless open, it is behind the gate.
	serve http.Handler
	open  bool
	// deny answers a request that the gate refused, in the binding's form.
	deny func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// surfaces are the ways in. The first that owns a request serves it.
type surfaces []surface

// of returns the surface of a request, and nil when there is nothing.
func (s surfaces) of(r *http.Request) *surface {
	for i := range s {
		if s[i].owns(r) {
			return &s[i]
		}
	}
	return nil
}

// deny answers a request that may not pass. A path that nobody owns is
// answered as JSON-RPC, which is what most clients speak.
func (s surfaces) deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	if found := s.of(r); found != nil && found.deny != nil {
		found.deny(w, r, problem)
		return
	}
	jsonrpc.Deny(w, r, problem)
}

// at owns the requests for some paths.
func at(paths ...string) func(*http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(paths, r.URL.Path) }
}

// rpcBases are the JSON-RPC endpoints without their trailing slash: clients
// append to the one that they were given.
var rpcBases = []string{""}

// below owns the requests for some paths below each base.
func below(bases []string, paths ...string) func(*http.Request) bool {
	var all []string
	for _, base := range bases {
		for _, path := range paths {
			all = append(all, base+path)
		}
	}
	return at(all...)
}

// newSurfaces puts the ways in together.
func (s *Sidecar) newSurfaces() surfaces {
	served := func() *card.Card { return &s.current().Card }
	bounds := s.limits.exchange()
	streams := sse.Config{KeepAlive: keepAlive, WriteTimeout: writeTimeout, Now: s.now, Park: s.park, Quiet: quietAfter}
	admitted := &requestcheck.Handler{Handler: &metered{s.handler(), s.limits}, Push: s.turns.pushes, Card: served, Refused: s.refusals.refused}
	s.card.Admit = admitted.ExtendedCard
	rpc := jsonrpc.New(jsonrpc.Config{
		Handler:       admitted,
		Push:          admitted,
		Card:          served,
		ExtendedCard:  s.card.Extended,
		StrictVersion: func() bool { return s.current().ProtocolOptions.StrictVersion },
		RestartV01:    func() bool { return s.current().ProtocolOptions.RestartTasks },
		Streams:       streams,
		Limits:        bounds,
		Observe:       s.metrics.observe,
		Log:           s.log,
	})
	web := rest.New(rest.Config{
		Handler:       admitted,
		Push:          admitted,
		Card:          served,
		ExtendedCard:  s.card.Extended,
		PublicCard:    s.card.Public,
		StrictVersion: func() bool { return s.current().ProtocolOptions.StrictVersion },
		ErrorProfile:  s.errorProfile,
		Streams:       streams,
		Limits:        bounds,
		Observe:       s.metrics.observe,
		Log:           s.log,
	})
	calls := grpc.New(grpc.Config{
		Handler:       admitted,
		Push:          admitted,
		Card:          served,
		ExtendedCard:  s.card.Extended,
		PublicCard:    s.card.Public,
		Serving:       func() bool { return !s.drain.active() },
		Limits:        bounds,
		StrictVersion: func() bool { return s.current().ProtocolOptions.StrictVersion },
		Profile:       s.errorProfile,
		Observe:       s.metrics.observe,
		Log:           s.log,
	})
	return surfaces{
		{binding: "grpc", owns: grpc.OwnsHealth, serve: calls, deny: grpc.Deny, open: true},
		{binding: "grpc", owns: grpc.Owns, serve: calls, deny: grpc.Deny},
		{binding: "wellknown", owns: below(rpcBases, wellknown.Path, wellknown.LegacyPath), serve: s.card, open: true},
		{binding: "wellknown", owns: at(signing.Path), serve: http.HandlerFunc(s.card.ServeKeys), open: true},
		{binding: "wellknown", owns: below(rpcBases, wellknown.ExtendedPath), serve: s.card.ServeExtended(s.metrics.observe), deny: wellknown.Deny},
		{binding: "jsonrpc", owns: at("/"), serve: rpc, deny: jsonrpc.Deny},
		{binding: "rest", owns: rest.Owns, serve: web, deny: rest.Deny},
	}
}

// handler runs the operations.
func (s *Sidecar) handler() a2a.Handler {
	if s.options.Store != "" {
		return s.turns
	}
	return &formerTasks{Handler: s.turns, began: s.now()}
}

// errorProfile is the release of 1.0 whose mapping of errors is used.
func (s *Sidecar) errorProfile() errormap.Profile {
	return errormap.Profile(s.current().ProtocolOptions.ErrorProfile)
}

// park implements sse.Park. What follows is outside of the chain, so that a panic
// of it would be the end of the process.
func (s *Sidecar) park(w http.ResponseWriter, r *http.Request, serve func(context.Context, sse.Parked) bool) bool {
	return s.parking.Park(w, r, func(ctx context.Context, c *serverconn.Parked) (whole bool) {
		defer func() {
			if reason := recover(); reason != nil {
				s.log.ErrorContext(ctx, "panic", "reason", reason, "stack", string(debug.Stack()))
			}
		}()
		return serve(ctx, c)
	})
}
