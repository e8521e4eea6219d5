// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecar is the composition root of the data plane. It reads flags, the sidecar
// configuration and credentials, makes the parts of a sidecar, and runs them. It has no
// logic of the protocol, which is in internal/a2a, and links no Kubernetes package.
package sidecar

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/mcpserver"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
)

// Sidecar has the parts of a sidecar. Open makes one, and Serve runs it.
type Sidecar struct {
	environment

	listeners *serving.Listeners
	// configuration is where the configuration is reloaded from, nil in standalone mode.
	configuration *reload.Source

	access access
	// certificate is that of the A2A endpoint, nil without TLS.
	certificate *servingCertificate
	gate        *auth.Gate
	refusals    *refusals
	denials     *denials
	limits      *serving.Limits

	store *taskStore
	turns *turns
	card  publishedCard

	gateway          *gateway.Handler
	gatewayTransport *http.Transport
	translator       *translator.Translator
	mcp              *mcpserver.Handler

	// agentCard tracks the card of an agent that speaks A2A, else nil.
	agentCard *health.Dependency
	agent     *agentProbe

	drain        *serving.Drainer
	probes       *serving.Probes
	parking      *serving.Parking
	routes       serving.Routes
	agentHandler http.Handler
}

// Addresses returns where the sidecar listens.
func (s *Sidecar) Addresses() serving.Addresses { return s.listeners.Addresses() }

// OwnHeap tunes the garbage collector of the process, which must be a sidecar and
// nothing else. It is called before Serve.
func (s *Sidecar) OwnHeap() { s.heap.Own() }

func (s *Sidecar) gracePeriod() time.Duration {
	return s.current().Drain.GracePeriod.Or(30 * time.Second)
}

// ready returns nil if the sidecar and its agent, or its model server, can serve.
func (s *Sidecar) ready(ctx context.Context) error {
	if err := s.health.Ready(); err != nil {
		return err
	}
	if s.current().Backend.External() {
		return s.turns.backend.model.health.ready()
	}
	return s.agent.check(ctx)
}

// admitsNobody reports whether no configured method can authenticate a caller now.
func (s *Sidecar) admitsNobody(health.Status) bool { return s.access.admitsNobody(&s.current().Access) }

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

// deny answers and counts a request that did not reach a binding.
func (s *Sidecar) deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	outcome := httpcall.Outcome{}.Refused(problem)
	if route := s.routes.Of(r); route != nil {
		outcome.Binding = route.Binding
	}
	s.observe(r.Context(), outcome)
	s.routes.Deny(w, r, problem)
}

// running returns the number of running turns: those of the agent, and those that it
// began with remote agents.
func (s *Sidecar) running() int { return s.turns.Running() + s.translator.Running() }

// drainTurns ends the agent's turns, and then those that they began with remote agents.
func (s *Sidecar) drainTurns(ctx context.Context) error {
	return errors.Join(s.turns.Drain(ctx), s.translator.Drain(ctx))
}

func (s *Sidecar) close() {
	_ = s.store.close() // no call is running
	s.heap.Stop()
	s.turns.backend.Close()
	s.translator.Close()
	s.traces.close()
	s.turns.pushes.guard.CloseIdleConnections()
	s.gatewayTransport.CloseIdleConnections()
	s.access.issuer.transport.CloseIdleConnections()
}
