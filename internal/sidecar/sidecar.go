// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/gctuning"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// What is the same for every agent.
const (
	keepAlive    = 15 * time.Second
	writeTimeout = 15 * time.Second
	// quietAfter is the silence after which a stream is parked.
	quietAfter = 500 * time.Millisecond
)

// Sidecar is everything that is put together.
type Sidecar struct {
	options *Options
	log     *slog.Logger
	now     func() time.Time

	// config is what is served now.
	config  atomic.Pointer[loaded]
	sockets listeners

	// reloading guards what a reload changes.
	reloading sync.Mutex
	// refused is the digest of the last contract that was not taken, so that it
	// is complained of once: "" of one that could not be read, nil before there
	// was any. refusedKeys is the same of keys.
	refused     *string
	refusedKeys [sha256.Size]byte
	cardKeys    *cardKeys
	issuer      *issuerKeys
	// apiKeys and clientCA are for callers, tls for this endpoint (nil in the
	// clear), and trust is for servers that are called; mounts are what they are
	// read from.
	apiKeys  auth.APIKeys
	clientCA auth.Authorities
	tls      *serverconn.TLS
	trust    trust
	model    modelServer
	mounts   []*mounted
	// served is the certificate of tls.
	served *servedCertificate
	// These are tracked: cardKeysHealth is nil without keys, and agentCard where
	// the agent does not speak A2A.
	configuration, cardKeysHealth, agentCard *health.Dependency

	tasks  *tasks
	turns  *turns
	limits *limits
	gate   *auth.Gate
	// refusals are of calls that rules refuse.
	refusals *refusals
	card     *wellknown.Handler
	gateway  *gateway.Handler
	remotes  *translator.Translator
	metrics  *metrics
	health   *health.Tracker
	drain    *drainer
	probes   *probes
	heap     *gctuning.Keeper

	surfaces surfaces
	// parking has the connections of streams on which nothing happens.
	parking *serverconn.Parking

	agentHandler     http.Handler
	gatewayTransport *http.Transport
}

func assemble(o *Options, sockets listeners, log *slog.Logger, now func() time.Time) (*Sidecar, error) {
	config, err := o.load(sockets.agent.Addr())
	if err != nil {
		return nil, err
	}
	log = slog.New(tracedLog{log.Handler()})
	s := &Sidecar{options: o, log: log, now: now, sockets: sockets, metrics: newMetrics(), heap: gctuning.New(heapPolicy)}
	s.metrics.working = s.heap.Working
	s.config.Store(&config)
	s.health = health.New(now)
	s.metrics.registry.MustRegister(s.health)
	s.configuration = s.health.Add(sidecarconfig.DependencyConfiguration, health.Options{})
	s.configuration.Succeeded()
	s.issuer = newIssuerKeys(s.metrics, log, now, &s.trust)
	s.issuer.track = func() *health.Dependency {
		return s.health.Add(sidecarconfig.DependencyIssuerKeys, health.Options{
			Blocks:    func(health.Status) bool { return s.admitsNobody() },
			LostAfter: keysLostAfter,
		})
	}
	s.issuer.untrack = s.health.Remove
	policy, keys, err := s.newPolicy(&config.Access)
	if err != nil {
		return nil, err
	}
	s.issuer.swap(keys)
	s.model.trust, s.model.local = &s.trust, o.ConfigFile == ""
	s.trackModelServer(&config.Backend)
	s.trackAgentCard(&config.Backend)
	if err := s.mountCredentials(); err != nil {
		return nil, err
	}
	if s.cardKeys, err = readCardKeys(o.CardSigningKeys); err != nil {
		return nil, err
	}
	if len(o.CardSigningKeys) > 0 {
		s.cardKeysHealth = s.health.Add(sidecarconfig.DependencyCardSigningKeys, health.Options{})
		s.cardKeysHealth.Succeeded()
	}
	s.card = &wellknown.Handler{Now: now}
	if err := s.swapCard(&config); err != nil {
		return nil, err
	}
	s.limits = newLimits(&config.Limits, s.metrics, now)
	s.limits.deny = s.deny
	if s.tasks, err = s.openTasks(config.Config); err != nil {
		return nil, err
	}
	if s.turns, err = newTurns(func() *sidecarconfig.Config { return s.current().Config }, s.tasks, &s.model, o.ConfigFile == "", s.limits.turns, s.metrics, log, now); err != nil {
		return nil, err
	}
	s.gate = auth.NewGate(policy, s.refuse)
	s.refusals = &refusals{metrics: s.metrics, log: log, told: map[string]bool{}}
	s.parking = serverconn.NewParking(serverconn.ParkingOptions{Idle: idleTimeout, WriteTimeout: writeTimeout, Now: now})
	s.surfaces = s.newSurfaces()
	s.drain = newDrainer(log, now, s.running, s.drainTurns)
	host := checkHost(sockets.agent.Addr(), func() map[string]bool { return s.current().hosts }, s.surfaces.deny)
	s.agentHandler = watchHeap(s.heap, s.drain.sendAway(newAgentHandler(log, now, host, s.gate, s.limits, s.access, s.surfaces)))
	s.gatewayTransport = newGatewayTransport(&s.trust)
	if s.remotes, err = s.newRemotes(config.Gateway); err != nil {
		return nil, err
	}
	s.metrics.gauge("a2a_remote_turns_in_flight", "Turns of agents that run elsewhere, begun by the agent through the gateway.",
		func() float64 { return float64(s.remotes.Running()) })
	s.gateway = gateway.New(gatewayConfig(config.Gateway), gateway.Options{
		Transport: s.gatewayTransport, Remotes: s.remotes, Deny: translator.Deny, Log: log, Now: now,
	})
	s.probes = &probes{
		agent:   &agentProbe{now: now, address: func() string { return backendAddress(s.current().Backend.URL) }},
		model:   s.modelReady,
		health:  s.health,
		drain:   s.drain,
		metrics: s.metrics,
		grace:   s.grace,
	}
	s.metrics.serving(config.digest)
	return s, nil
}

// Addresses are where a sidecar listens; "" is nowhere.
type Addresses struct {
	Agent, Health, Gateway string
}

// Addresses returns where the sidecar listens.
func (s *Sidecar) Addresses() Addresses {
	of := func(l net.Listener) string {
		if l == nil {
			return ""
		}
		return l.Addr().String()
	}
	return Addresses{Agent: of(s.sockets.agent), Health: of(s.sockets.health), Gateway: of(s.sockets.gateway)}
}

// modelReady reports whether the model server is elsewhere, and what keeps the
// sidecar from calling it.
func (s *Sidecar) modelReady() (elsewhere bool, err error) {
	if !s.current().Backend.External() {
		return false, nil
	}
	return true, s.model.ready()
}

func (s *Sidecar) current() *loaded { return s.config.Load() }

func (s *Sidecar) access() *sidecarconfig.Access { return &s.current().Access }

func (s *Sidecar) grace() time.Duration {
	return s.current().Drain.GracePeriod.Or(30 * time.Second)
}

// refuse is deny for those whom the gate did not let in.
func (s *Sidecar) refuse(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	s.limits.failed(r, problem)
	s.deny(w, r, problem)
}

// deny answers, and counts, a request without a caller.
func (s *Sidecar) deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	outcome := httpcall.Outcome{Code: httpcall.Code(problem)}
	if found := s.surfaces.of(r); found != nil {
		outcome.Binding = found.binding
	}
	s.metrics.observe(outcome)
	s.surfaces.deny(w, r, problem)
}

func (s *Sidecar) close() {
	_ = s.tasks.close() // nothing is on its way
	s.heap.Stop()
	s.turns.backend.Close()
	s.remotes.Close()
	s.turns.pushes.guard.CloseIdleConnections()
	s.gatewayTransport.CloseIdleConnections()
	s.issuer.transport.CloseIdleConnections()
}

// reload takes a contract that has changed, whole or not at all.
func (s *Sidecar) reload() {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next, err := s.options.load(s.sockets.agent.Addr())
	if next.digest != "" && next.digest == s.current().digest {
		s.refused = nil
		s.configuration.Succeeded()
		return
	}
	if err == nil {
		err = s.apply(&next)
	}
	if err != nil {
		if s.refused != nil && *s.refused == next.digest {
			return
		}
		s.refused = &next.digest
		s.metrics.reloads.WithLabelValues("refused").Inc()
		s.configuration.Failf(sidecarconfig.CauseInvalid, "the former configuration stays in force: %v", err)
		s.log.Error("keep former contract", "digest", s.current().digest, "error", err)
		return
	}
	s.refused = nil
	s.configuration.Succeeded()
	s.metrics.reloads.WithLabelValues("applied").Inc()
	s.metrics.serving(next.digest)
	s.log.Info("took contract", "digest", next.digest)
}

// apply swaps what a contract decides. All that can fail is done first.
func (s *Sidecar) apply(next *loaded) error {
	former := s.current()
	policy, keys, err := s.newPolicy(&next.Access)
	if err != nil {
		return err
	}
	targets, err := pushPolicy(next.PushNotifications, s.turns.pushes.local)
	if err != nil {
		return err
	}
	elsewhere, err := remotePolicy(next.Gateway)
	if err != nil {
		return err
	}
	// Of the two that may fail and change something, the one that cannot fail for
	// a contract that was validated comes last.
	if err := s.swapCard(next); err != nil {
		return err
	}
	if err := s.turns.backend.swap(&next.Backend); err != nil {
		return err
	}
	// A policy that did not change keeps the tokens that it has verified.
	if !reflect.DeepEqual(former.Access, next.Access) {
		s.gate.Swap(policy)
		s.refusals.renew()
		s.issuer.swap(keys)
	}
	if !reflect.DeepEqual(former.PushNotifications, next.PushNotifications) {
		s.turns.pushes.guard.Swap(targets)
	}
	if !reflect.DeepEqual(former.Gateway, next.Gateway) {
		s.remotes.Swap(elsewhere)
	}
	s.gateway.Swap(gatewayConfig(next.Gateway))
	s.limits.swap(&next.Limits)
	s.turns.LimitsChanged()
	if former.Tasks != next.Tasks {
		s.log.Warn("bounds of the task store change with the next start", "tasks", next.Tasks)
	}
	s.config.Store(next)
	return nil
}

// swapCard serves the card of a configuration, signed with the keys that there are.
func (s *Sidecar) swapCard(l *loaded) error {
	signer, err := s.cardKeys.signer(l.CardSigning.JWKSURL)
	if err != nil {
		return err
	}
	return s.card.Swap(wellknown.Content{
		Card: &l.Card, Bases: l.Bases, Profile: l.ProtocolOptions.CardProfile, Signer: signer, Modified: s.options.written(),
	})
}

func gatewayConfig(g *sidecarconfig.Gateway) *gateway.Config {
	if g == nil {
		return nil
	}
	return &gateway.Config{RegistryURL: g.RegistryURL, AgentURL: g.AgentURL, TokenFile: g.TokenFile}
}

// newGatewayTransport uses no proxy from the environment.
func newGatewayTransport(t *trust) *http.Transport {
	return &http.Transport{
		DialContext:           dial,
		DialTLSContext:        t.dialTLS("http/1.1"),
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       30 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}
