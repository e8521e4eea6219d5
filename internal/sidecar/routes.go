// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

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

// parkAfter is the time without events after which the connection of a stream is parked.
const parkAfter = 500 * time.Millisecond

// newRoutes creates the bindings of the A2A endpoint and their routes.
func (s *Sidecar) newRoutes() serving.Routes {
	served := func() *card.Card { return &s.current().Card }
	errorProfile := func() errormap.Profile { return errormap.Profile(s.current().ProtocolOptions.ErrorProfile) }
	published := s.card.handler
	keepAlive := func() time.Duration { return s.current().ProtocolOptions.StreamKeepAlive() }
	streams := sse.Config{Interval: keepAlive, WriteTimeout: serving.WriteTimeout, Now: s.now, Park: parked(serving.ParkStreams(s.parking, s.log)), ParkAfter: parkAfter}
	checked := &requestcheck.Handler{
		Handler: s.limits.Meter(s.handler()), Push: s.turns.pushes, Card: served, Approves: s.turns.backend.approves, Refused: s.refuseCall,
	}
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
		Config: shared, PublicCard: published.Public, Profile: errorProfile, Serving: func() bool { return !s.drain.Refusing() },
	})
	public := shared
	public.Limits = s.limits.Public()
	healthCheck := grpc.New(grpc.Config{Config: public, Profile: errorProfile, Serving: func() bool { return !s.drain.Refusing() }})
	return serving.Routes{
		{Binding: "grpc", Matches: grpc.OwnsHealth, Handler: healthCheck, Deny: grpc.Deny, Public: true},
		{Binding: "grpc", Matches: grpc.Owns, Handler: remoteCalls, Deny: grpc.Deny},
		{Binding: "wellknown", Matches: serving.Paths(wellknown.Path, wellknown.LegacyPath), Handler: published, Public: true},
		{Binding: "wellknown", Matches: serving.Paths(signing.Path), Handler: http.HandlerFunc(published.ServeKeys), Public: true},
		{Binding: "wellknown", Matches: serving.Paths(wellknown.ResourcePath), Handler: http.HandlerFunc(published.ServeResource), Public: true},
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

// formerTasks implements a2a.Handler for a sidecar with a memory store. If a task is not
// found and began before the sidecar started, it explains to the client that the task is
// in the memory of another pod, which may still run it. It reads the start of a task from
// the task's id.
type formerTasks struct {
	a2a.Handler
	// started is when this process started.
	started time.Time
}

// explain adds the explanation to the error of an operation on a task, if the task began
// before this process started.
func (f *formerTasks) explain(err error) error {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok || problem.Reason != a2a.ReasonTaskNotFound || !madeBefore(problem.TaskID, f.started) {
		return err
	}
	explained := *problem
	explained.Message = "Task not found: it began before this replica started, and tasks are kept in memory. " +
		"Streams that are already open at its former replica show it until that replica has shut down"
	return &explained
}

// madeBefore reports whether task is the id of a task that began before at. It reads the
// time from the id: the engine's ids are UUIDs of version 7.
func madeBefore(task string, at time.Time) bool {
	id, err := uuid.Parse(task)
	if err != nil || id.Version() != 7 {
		return false
	}
	seconds, nanoseconds := id.Time().UnixTime()
	return time.Unix(seconds, nanoseconds).Before(at.Truncate(time.Millisecond))
}

// Send implements a2a.Handler.
func (f *formerTasks) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	e, err := f.Handler.Send(ctx, r)
	return e, f.explain(err)
}

// Stream implements a2a.Handler.
func (f *formerTasks) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	s, err := f.Handler.Stream(ctx, r)
	return s, f.explain(err)
}

// Get implements a2a.Handler.
func (f *formerTasks) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	t, err := f.Handler.Get(ctx, r)
	return t, f.explain(err)
}

// Cancel implements a2a.Handler.
func (f *formerTasks) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	t, err := f.Handler.Cancel(ctx, r)
	return t, f.explain(err)
}

// Subscribe implements a2a.Handler.
func (f *formerTasks) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	s, err := f.Handler.Subscribe(ctx, r)
	return s, f.explain(err)
}
