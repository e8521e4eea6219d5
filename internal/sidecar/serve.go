// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// stopTimeout bounds the shutdown of the servers, which begins after the turns have
// ended.
const stopTimeout = 2 * time.Second

// Serve runs the sidecar until ctx ends, and then shuts it down. It starts every goroutine
// of the sidecar, and returns when all of them have ended.
//
// The shutdown has these steps:
//
//  1. The pod becomes unready, and each response closes its connection.
//  2. New turns are refused.
//  3. The running turns end, at the latest shortly before the end of the grace period.
//  4. Streams end so that clients can resume them.
//  5. The MCP sessions end, and the servers close.
//
// In a pod, the preStop hook has completed most of these steps before the process receives
// the signal.
func (s *Sidecar) Serve(ctx context.Context) error {
	group, failed := errgroup.WithContext(ctx)
	options := serving.ServerOptions{
		Agent: s.agentHandler, Gateway: s.gateway, Parking: s.parking, Flooded: s.metrics.Flooded, Log: s.log,
	}
	if s.certificate != nil {
		options.TLS = s.certificate.tls
	}
	if s.listeners.Health != nil {
		options.Health = s.probes.Handler(s.listeners.Health.Addr())
	}
	s.turns.Start()
	servers := serving.Start(group, s.listeners, options) //nolint:contextcheck // requests outlive ctx until the drain ends
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	s.startBackground(background, group)
	s.probes.Started()
	s.log.Info("sidecar started", "a2a", s.Addresses().Agent, "backend", s.current().Backend.URL,
		"card", s.options.OwnBase(s.listeners.Agent.Addr())+wellknown.Path)

	// ctx ends with the signal. failed also ends when a server fails.
	<-failed.Done()
	stopBackground()
	s.drain.Begin(s.gracePeriod(), 0) //nolint:contextcheck // the drain begins because ctx has ended
	s.drain.Wait(context.WithoutCancel(ctx))
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	// The MCP server ends its streams and calls, because the servers wait for them. It runs
	// concurrently, because a call may wait until its agent responds to the cancel request.
	group.Go(func() error { s.mcp.Close(); return nil })
	servers.Stop(stopping)
	err := group.Wait()
	s.close() //nolint:contextcheck // ctx has ended, so the call does not use it
	s.log.Info("sidecar stopped")
	return err
}

// startBackground starts the tasks that run until ctx ends, in addition to the servers.
func (s *Sidecar) startBackground(ctx context.Context, group *errgroup.Group) {
	run := func(f func(context.Context)) { group.Go(func() error { f(ctx); return nil }) }
	group.Go(func() error { return s.reloader.Watch(ctx) })
	run(func(ctx context.Context) { s.turns.pushes.resume(ctx, s.log) })
	run(s.access.issuer.follow)
	run(health.NewReporter(s.health, func() *sidecarconfig.Gateway { return s.current().Gateway }, s.gatewayTransport, s.log).Run)
	if s.agentCard != nil {
		run(func(ctx context.Context) {
			awaitAgentCard(ctx, &s.environment, s.agentCard, s.agent, s.turns.backend.check)
		})
	}
	if s.current().Backend.External() {
		run(func(ctx context.Context) {
			s.turns.backend.model.Health.Follow(ctx, s.log, s.current().Backend.URL, s.turns.backend.check)
		})
	}
	if s.certificate != nil {
		run(s.certificate.follow)
	}
}
