// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
)

const (
	// keepAlive is the interval at which a comment is sent in a stream without events.
	keepAlive = 15 * time.Second
	// parkAfter is the time without events after which the connection of a stream is parked.
	parkAfter = 500 * time.Millisecond
)

// newRoutes creates the bindings of the A2A endpoint and their routes.
func (s *Sidecar) newRoutes() serving.Routes {
	served := func() *card.Card { return &s.current().Card }
	errorProfile := func() errormap.Profile { return errormap.Profile(s.current().ProtocolOptions.ErrorProfile) }
	published := s.card.handler
	streams := sse.Config{KeepAlive: keepAlive, WriteTimeout: serving.WriteTimeout, Now: s.now, Park: parked(s.parking.ParkStream), ParkAfter: parkAfter}
	checked := &requestcheck.Handler{Handler: s.limits.Meter(s.handler()), Push: s.turns.pushes, Card: served, Refused: s.refuseCall}
	published.Admit = checked.ExtendedCard
	shared := httpcall.Config{
		Handler:       tracing.Handler{Handler: checked},
		Push:          checked,
		Card:          served,
		ExtendedCard:  published.Extended,
		StrictVersion: func() bool { return s.current().ProtocolOptions.StrictVersion },
		Limits:        s.limits.HTTP(),
		Observe:       s.observe,
		Log:           s.log,
	}
	rpc := jsonrpc.New(jsonrpc.Config{
		Config: shared, Streams: streams, RestartV01: func() bool { return s.current().ProtocolOptions.RestartTasks },
	})
	restful := rest.New(rest.Config{
		Config: shared, Streams: streams, PublicCard: published.Public, ErrorProfile: errorProfile,
	})
	remoteCalls := grpc.New(grpc.Config{
		Config: shared, PublicCard: published.Public, Profile: errorProfile, Serving: func() bool { return !s.drain.Draining() },
	})
	return serving.Routes{
		{Binding: "grpc", Matches: grpc.OwnsHealth, Handler: remoteCalls, Deny: grpc.Deny, Public: true},
		{Binding: "grpc", Matches: grpc.Owns, Handler: remoteCalls, Deny: grpc.Deny},
		{Binding: "wellknown", Matches: serving.Paths(wellknown.Path, wellknown.LegacyPath), Handler: published, Public: true},
		{Binding: "wellknown", Matches: serving.Paths(signing.Path), Handler: http.HandlerFunc(published.ServeKeys), Public: true},
		{Binding: "wellknown", Matches: serving.Paths(wellknown.ExtendedPath), Handler: published.ServeExtended(s.observe), Deny: wellknown.Deny},
		{Binding: "jsonrpc", Matches: serving.Paths("/"), Handler: rpc, Deny: jsonrpc.Deny},
		{Binding: "rest", Matches: rest.Owns, Handler: restful, Deny: rest.Deny},
	}
}

// handler returns the handler that executes the operations.
func (s *Sidecar) handler() a2a.Handler {
	if s.options.Store != "" {
		return s.turns
	}
	return &formerTasks{Handler: s.turns, started: s.now()}
}
