// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/kit/auditlog"
	"github.com/a2a-operator/a2a-operator/internal/kit/gctuning"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// Open opens the listeners and reads the configuration. When it has returned, clients can
// connect, and Serve must be called to answer them. now is the clock.
func Open(ctx context.Context, o *settings.Options, log *slog.Logger, now func() time.Time) (*Sidecar, error) {
	return openWith(ctx, o, log, now, now)
}

// openWith is Open with a clock for the rate limiters.
func openWith(ctx context.Context, o *settings.Options, log *slog.Logger, now, rateClock func() time.Time) (*Sidecar, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	listeners, err := serving.Listen(ctx, o.Addresses())
	if err != nil {
		return nil, err
	}
	s, err := assemble(o, listeners, log, now, rateClock)
	if err != nil {
		listeners.Close()
		return nil, err
	}
	return s, nil
}

// assemble creates the parts of a sidecar, and applies the configuration to them.
func assemble(o *settings.Options, listeners *serving.Listeners, log *slog.Logger, now, rateClock func() time.Time) (*Sidecar, error) {
	var err error
	s := &Sidecar{listeners: listeners}
	if s.memory, err = memoryshare.Divide(cmp.Or(o.MemoryLimit, memoryshare.Default)); err != nil {
		return nil, err
	}
	s.options = o
	s.now = now
	s.log = slog.New(logging.WithTraceIDs(log.Handler()))
	limits := serving.LimitOptions{Memory: s.memory, Deny: s.deny, Now: now, RateClock: rateClock}
	s.health = health.New(now)
	s.heap = gctuning.New(gctuning.Sidecar)
	s.metrics = metrics.New(now, s.heap.Working)
	s.traces.open(&s.trust, s.log)
	s.metrics.Registry.MustRegister(s.health, s.traces.counters)
	s.reloader = reload.New(s.log, s.metrics)
	if s.protected, err = egress.InPod(os.Getenv(sidecarconfig.APIServerVariable), os.Getenv(sidecarconfig.HostAddressesVariable)); err != nil {
		return nil, fmt.Errorf("find the addresses of %s: %w", sidecarconfig.HostAddressesVariable, err)
	}
	first, err := s.loadConfiguration()
	if err != nil {
		return nil, err
	}
	s.config.Store(first)
	s.access.now = now
	s.access.issuer = newIssuerKeys(&s.environment, s.admitsNoCaller)
	limits.Initial = &first.Limits
	limits.Limited = s.metrics.Limited
	limits.Metrics = s.metrics.Registry
	s.limits = serving.NewLimits(limits)
	if s.store, err = openTaskStore(&s.environment, listeners.Agent.Addr()); err != nil {
		return nil, err
	}
	if s.turns, err = newTurns(&s.environment, s.store, s.limits); err != nil {
		return nil, err
	}
	if err := s.addSkills(); err != nil {
		return nil, err
	}
	s.card = publishedCard{handler: &wellknown.Handler{Now: now}, options: o, report: s.health.SetCardSignatures, signing: &s.signing}
	s.agent = &agentProbe{now: now, url: func() string { return s.current().Backend.URL }}
	s.trackBackend(&first.Backend)
	if err := s.addCredentials(); err != nil {
		return nil, err
	}
	s.refusals = &refusals{metrics: s.metrics, log: s.log}
	s.denials = &denials{auditlog.New(s.log, now)}
	s.gate = auth.NewGate(&auth.Policy{}, s.denyUnauthenticated)
	s.gate.Metadata = s.card.handler.ResourceURL
	s.assembleGateway()
	s.assembleHandlers()
	empty := &settings.Loaded{Config: &sidecarconfig.Config{Tasks: first.Tasks}}
	if err := reload.Apply(s.steps(), empty, first); err != nil {
		return nil, err
	}
	return s, nil
}

// loadConfiguration returns the first configuration, and adds its file to the reloader.
func (s *Sidecar) loadConfiguration() (first *settings.Loaded, err error) {
	address := s.listeners.Agent.Addr()
	if s.options.Standalone() {
		return s.options.Load(nil, address)
	}
	source := &reload.Source{
		Name: "configuration", Directories: []string{filepath.Dir(s.options.ConfigFile)}, Read: s.options.ReadFile,
		Use: func(files reload.Files) error {
			first, err = s.options.Load(files, address)
			return err
		},
		Report: reportReloads(s.health.Add(sidecarconfig.DependencyConfiguration, health.Options{}), "the former configuration stays in use"),
	}
	if err := source.Load(); err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", s.options.ConfigFile, err)
	}
	source.Use = s.reconfigure
	s.reloader.Add(source)
	s.configuration = source
	return first, nil
}

// trackBackend adds the external dependencies of the backend to the health tracker: a
// model server outside of the pod, or the card of an agent whose backend protocol is A2A.
func (s *Sidecar) trackBackend(b *sidecarconfig.Backend) {
	if b.External() {
		s.turns.backend.model.Health.Track(s.health)
	}
	if b.Protocol == sidecarconfig.ProtocolChatCompletions {
		s.turns.backend.model.Tools.Track(s.health, slices.ContainsFunc(b.Model.MCP, func(m sidecarconfig.MCPServer) bool { return m.Required }))
	}
	if b.Protocol == sidecarconfig.ProtocolA2A && s.listeners.Health != nil {
		s.agentCard = trackAgentCard(&s.environment)
	}
}

// addCredentials reads the credentials that the flags configure.
func (s *Sidecar) addCredentials() error {
	o := s.options
	e := &s.environment
	if o.APIKeys != "" {
		if err := addAPIKeys(e, o.APIKeys, &s.access.apiKeys, s.admitsNoCaller); err != nil {
			return err
		}
	}
	if o.TLS != "" {
		var source *reload.Source
		s.certificate, source = newServingCertificate(e, o.TLS)
		if err := s.addCredential(source, ErrTLS); err != nil {
			return err
		}
	}
	if err := s.addClientAuthorities(); err != nil {
		return err
	}
	if o.TrustBundle != "" {
		source := s.fileSource("trust-bundle", o.TrustBundle, sidecarconfig.DependencyTrustBundle, "the former authorities of servers stay in use", s.trust.SetBundle)
		if err := s.addCredential(source, ErrTrust); err != nil {
			return err
		}
	}
	if o.ClientCertificate != "" {
		if info, err := os.Stat(o.ClientCertificate); err != nil || !info.IsDir() {
			return fmt.Errorf("--client-certificate is %s, which is no directory: create it, with tls.crt and tls.key, or remove the flag", o.ClientCertificate)
		}
		s.trust.SetClientCertificate(trust.NewClientCertificate(o.ClientCertificate, o.ClientCertificateHosts, e.log))
	}
	if err := s.addModelFiles(); err != nil {
		return err
	}
	if len(o.CardSigningKeys) > 0 {
		return addCardKeys(e, o.CardSigningKeys, &s.card)
	}
	return nil
}

// addClientAuthorities reads the certificate authorities of clients.
func (s *Sidecar) addClientAuthorities() error {
	add := func(name, file string, use func(*x509.CertPool)) error {
		source := s.fileSource(name, file, sidecarconfig.DependencyClientCA, "the former authorities of clients stay in use", func(pem []byte) error {
			pool, err := egress.ParseAuthorities(pem)
			if err == nil {
				use(pool)
			}
			return err
		})
		return s.addCredential(source, ErrClientCA)
	}
	if s.options.MTLSCABundle == "" {
		return nil
	}
	if err := add("mtls-ca-bundle", s.options.MTLSCABundle, s.access.clientCA.Swap); err != nil {
		return err
	}
	for _, each := range s.options.MTLSFederatedBundles {
		domain, file := settings.FederatedBundle(each)
		err := add("mtls-federated-ca-bundle of "+domain, file, func(pool *x509.CertPool) { s.access.clientCA.SwapFederated(domain, pool) })
		if err != nil {
			return err
		}
	}
	return nil
}

// addModelFiles reads the instructions and the API key of the model.
func (s *Sidecar) addModelFiles() error {
	o := s.options
	model := s.turns.backend.model
	if o.InstructionsFile != "" {
		source := s.fileSource("instructions", o.InstructionsFile, sidecarconfig.DependencyInstructions, "the former instructions stay in use", model.SetInstructions)
		if err := s.addCredential(source, ErrInstructions); err != nil {
			return err
		}
	}
	if o.ModelAPIKeyFile != "" {
		source := s.fileSource("model-api-key", o.ModelAPIKeyFile, sidecarconfig.DependencyModelServerKey, "the former API key stays in use", model.SetKey)
		model.ReloadKey = func() { s.reloader.Reload(source) }
		if err := s.addCredential(source, ErrModelKey); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sidecar) assembleGateway() {
	until := s.now().Add(earlyPeriod)
	s.gatewayTransport = newReconnectingTransport(func() *http.Transport { return newGatewayTransport(&s.trust, until, s.now) })
	s.registry = &registryHealth{next: s.gatewayTransport, tracker: s.health, gateway: func() *sidecarconfig.Gateway { return s.current().Gateway }}
	limits := s.limits.HTTP()
	s.translator = newTranslator(&s.environment, limits, s.turns.backend.memory)
	if own := s.trust.ClientCertificate(); own != nil {
		s.followClientCertificate(own, s.options.ClientCertificate)
	}
	s.gateway = gateway.New(nil, gateway.Options{
		Tracer: &s.traces.tracer, Turns: &s.turns.backend.turns, Transport: s.registry, Remotes: s.translator, Deny: translator.Deny, ObserveExchange: s.metrics.TokenExchanged,
		Bodies: limits.Bodies, MaxCards: int(s.memory.Cards), Log: s.log, Now: s.now,
	})
	s.metrics.Gauge("a2a_gateway_tokens", "Cached tokens for calls to agents; at most 256.", func() float64 { return float64(s.gateway.Tokens()) })
	s.mcp = newMCPServer(&s.environment, s.gateway, limits)
	s.turns.backend.model.Agents = agentTools(s.gateway, limits)
	s.turns.backend.model.TokenFor = s.gateway.ResourceToken
	s.gateway.Mount(gateway.Endpoints{
		Agent: newDirectoryAgent(&s.environment, s.gateway, limits), MCP: s.mcp, Sessions: s.turns.backend.sessionHandler,
	})
}

func (s *Sidecar) assembleHandlers() {
	s.parking = serving.NewParking()
	s.drain = serving.NewDrainer(s.log, s.now, s.running, s.drainTurns)
	s.probes = serving.NewProbes(serving.ProbeOptions{
		Ready: s.ready, Drain: s.drain, Metrics: s.metrics.Handler(), GracePeriod: s.gracePeriod, Now: s.now,
		Profiling: func() bool { return s.current().Observability.Profiling },
	})
	s.traces.tracer.Logs = func() bool { return s.current().Observability.AccessLog }
	s.routes = s.newRoutes()
	s.agentHandler = s.heap.Handler(serving.NewAgentHandler(serving.AgentOptions{
		Address: s.listeners.Agent.Addr(), Hosts: func() map[string]bool { return s.current().Hosts },
		Access:  func() *sidecarconfig.Access { return &s.current().Access },
		Proxies: func() sourceaddress.Proxies { return s.current().Proxies },
		Gate:    s.gate, Tracer: &s.traces.tracer, Limits: s.limits, Routes: s.routes, Drain: s.drain, Log: s.log, Now: s.now,
	}))
}
