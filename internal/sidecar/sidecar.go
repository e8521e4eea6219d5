// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecar is the composition root of the data plane. It reads flags, the sidecar
// configuration and credentials, creates the parts of a sidecar, and runs them. The logic
// of the protocol is in internal/a2a. The package links no Kubernetes package.
package sidecar

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/mcpserver"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
)

// Sidecar contains the parts of a sidecar. Open creates a Sidecar, and Serve runs it.
type Sidecar struct {
	environment

	listeners *serving.Listeners
	// configuration is the source of the sidecar configuration. It is nil in standalone
	// mode.
	configuration *reload.Source

	access access
	// certificate is the certificate of the A2A endpoint. It is nil without TLS.
	certificate *servingCertificate
	gate        *auth.Gate
	refusals    *refusals
	denials     *denials
	limits      *serving.Limits

	store *taskStore
	turns *turns
	card  publishedCard

	gateway          *gateway.Handler
	gatewayTransport *reconnectingTransport
	// registry is gatewayTransport, and records whether the registry answers.
	registry   *registryHealth
	translator *translator.Translator
	mcp        *mcpserver.Handler

	// agentCard tracks the card of an agent whose backend protocol is A2A. It is nil for
	// other protocols.
	agentCard *health.Dependency
	agent     *agentProbe

	// servers is nil until Serve has started them.
	servers      *serving.Servers
	drain        *serving.Drainer
	probes       *serving.Probes
	parking      *serverconn.Parking
	routes       serving.Routes
	agentHandler http.Handler
}

// Addresses returns the addresses at which the sidecar listens.
func (s *Sidecar) Addresses() serving.Addresses { return s.listeners.Addresses() }

// OwnHeap starts to tune the garbage collector of the process. The process must run
// nothing but a sidecar. OwnHeap must be called before Serve.
func (s *Sidecar) OwnHeap() { s.heap.Own() }

func (s *Sidecar) gracePeriod() time.Duration {
	return s.current().Drain.GracePeriod.Or(30 * time.Second)
}

// ready returns nil if the sidecar can serve and its agent or its model server is ready.
func (s *Sidecar) ready(ctx context.Context) error {
	if err := errors.Join(s.servers.Ready(), s.health.Ready()); err != nil {
		return err
	}
	if s.current().Backend.External() {
		return s.turns.backend.model.Health.Ready()
	}
	return s.agent.check(ctx)
}

// admitsNoCaller reports whether no configured method can authenticate a caller now.
func (s *Sidecar) admitsNoCaller(health.Status) bool {
	return s.access.admitsNoCaller(&s.current().Access)
}

// denyUnauthenticated answers a request that the gate denied.
func (s *Sidecar) denyUnauthenticated(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	s.limits.Denied(r, problem)
	s.denials.unauthenticated(r, problem)
	s.deny(w, r, problem)
}

// refuseCall counts and logs a call that the rules of authorization refused.
func (s *Sidecar) refuseCall(ctx context.Context, operation a2a.Method, why *authz.Refusal) {
	s.refusals.refused(ctx, why)
	s.denials.call(ctx, operation, why)
}

// deny answers and counts a request that is refused before it reaches a binding.
func (s *Sidecar) deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	outcome := httpcall.Outcome{}.Refused(problem)
	if route := s.routes.Of(r); route != nil {
		outcome.Binding = route.Binding
	}
	s.observe(r.Context(), outcome)
	s.routes.Deny(w, r, problem)
}

// running returns the number of running turns: the turns of the agent, and the turns of
// remote agents that the agent began.
func (s *Sidecar) running() int { return s.turns.Running() + s.translator.Running() }

// drainTurns ends the agent's turns, and then the turns of remote agents that they began.
func (s *Sidecar) drainTurns(ctx context.Context) error {
	return errors.Join(s.turns.Drain(ctx), s.translator.Drain(ctx))
}

func (s *Sidecar) close() {
	_ = s.store.close() // an error has no effect, because no call is running
	s.heap.Stop()
	s.turns.backend.Close()
	s.translator.Close()
	s.traces.close()
	s.turns.pushes.guard.CloseIdleConnections()
	s.gatewayTransport.CloseIdleConnections()
	s.access.issuer.transport.CloseIdleConnections()
}

// stopTimeout bounds the shutdown of the servers, which begins after the turns have
// ended.
const stopTimeout = 2 * time.Second

// Serve runs the sidecar until ctx ends, and then shuts it down. It starts every goroutine
// of the sidecar, and returns when all of them have ended.
//
// The shutdown has these steps:
//
//  1. Each response closes its connection. In a pod, new turns are still accepted while calls arrive.
//  2. The pod becomes unready, and new turns are refused.
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
		Memory: s.memory.Connections,
	}
	if s.certificate != nil {
		options.TLS = s.certificate.tls
	}
	if s.listeners.Health != nil {
		options.Health = s.probes.Handler(s.listeners.Health.Addr())
	}
	s.turns.Start()
	s.servers = serving.Start(group, s.listeners, options) // requests outlive ctx until the drain ends
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	s.startBackground(background, group)
	s.probes.Started()
	s.log.Info("sidecar started", "a2a", s.Addresses().Agent, "backend", s.current().Backend.URL,
		"card", s.options.OwnBase(s.listeners.Agent.Addr())+wellknown.Path)

	// failed ends when ctx ends, after a signal, and when a server or the file watch fails.
	<-failed.Done()
	stopBackground()
	s.drain.Begin(s.gracePeriod(), 0) // the drain begins because ctx has ended
	s.drain.Wait(context.WithoutCancel(ctx))
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	// Close ends the streams and calls of the MCP server, for which Servers.Stop would
	// wait. It runs concurrently with Stop, because a call may wait until the called agent
	// responds to the cancel request.
	group.Go(func() error { s.mcp.Close(); return nil })
	s.servers.Stop(stopping)
	err := group.Wait()
	s.close() // ctx has ended, so the call does not use it
	s.log.Info("sidecar stopped")
	return err
}

// startBackground starts the goroutines that run until ctx ends, in addition to the
// servers.
func (s *Sidecar) startBackground(ctx context.Context, group *errgroup.Group) {
	run := func(f func(context.Context)) { group.Go(func() error { f(ctx); return nil }) }
	group.Go(func() error { return s.reloader.Watch(ctx) })
	run(func(ctx context.Context) { s.turns.pushes.resume(ctx, s.log) })
	run(s.access.issuer.follow)
	reporter := health.NewReporter(s.health, s.registry.gateway, s.registry, s.log)
	run(reporter.Run)
	run(reporter.Beat)
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
	run(func(ctx context.Context) { s.turns.backend.model.Tools.Follow(ctx, s.turns.backend.modelBackend) })
	if s.certificate != nil {
		run(s.certificate.follow)
	}
}
