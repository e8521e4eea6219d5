// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/sessionapi"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tokenbudget"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/modelclient"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// agentBackend is a backend whose configuration can be replaced. A turn uses the
// configuration with which it began until its end.
type agentBackend struct {
	metrics *metrics.Metrics
	tracer  *tracing.Tracer
	budget  *tokenbudget.Budget
	memory  *limit.Budget
	// maxEvent is the size of the largest event for which there is memory, in bytes.
	maxEvent int
	model    *modelclient.Server
	// turns has the subjects of the running turns, for the gateway.
	turns delegation.Turns
	// sessions is where an agent with a session API stores its sessions.
	sessions *sessionapi.Handler
	inUse    atomic.Pointer[configuredBackend]
}

type configuredBackend struct {
	config sidecarconfig.Backend
	closableBackend
}

// closableBackend is a backend with idle connections.
type closableBackend interface {
	backend.Backend
	// Close closes idle connections. Running turns go on.
	Close()
}

var (
	_ backend.Backend    = (*agentBackend)(nil)
	_ backend.Canceler   = (*agentBackend)(nil)
	_ backend.Unfinisher = (*agentBackend)(nil)
)

// Run implements backend.Backend.
func (a *agentBackend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	defer a.turns.Begin(t.TaskID, t.Subject)()
	current := a.inUse.Load()
	ctx, t, span := startTurnSpan(ctx, a.tracer, t, current.config.Protocol)
	err := a.runMetered(ctx, current, t, emit)
	span.End(turnFailure(ctx, err))
	if failure, ok := errors.AsType[*backend.TurnError](err); ok && failure.Unrecognized {
		a.metrics.UnrecognizedEvent(current.config.Protocol)
	}
	return err // not wrapped: the engine determines the outcome of the turn from the error
}

// runMetered runs a turn and charges its tokens to the token budget: the tokens that the
// agent reports, and one token for each chunk of output that no report includes. The
// metric of tokens counts only the reported tokens.
func (a *agentBackend) runMetered(ctx context.Context, b *configuredBackend, t *backend.Turn, emit backend.Emit) error {
	meter := a.budget.Meter(t.AccountingPrincipal)
	defer func() {
		meter.End(ctx)
		if usage, ok := meter.Usage(); ok {
			a.metrics.ObserveTokens(usage)
		}
	}()
	memory := &backend.Memory{Budget: a.memory, Principal: t.AccountingPrincipal}
	defer memory.Release()
	if err := memory.ReserveRequest(ctx, t); err != nil {
		return err // not wrapped: as in Run
	}
	read := meter.Read
	metered := *t
	t = &metered
	metered.Reserve = func(bytes int64) error { return memory.Reserve(ctx, bytes) }
	if b.config.Protocol == sidecarconfig.ProtocolA2A || b.config.Protocol == sidecarconfig.ProtocolChatCompletions {
		metered.ReportUsage = func(usage backend.Usage) { meter.Report(ctx, usage) }
		metered.ReportChunk = meter.Chunk
		metered.CheckBudget = func(ctx context.Context) error {
			meter.Charge(ctx)
			return a.budget.Allow(ctx, metered.AccountingPrincipal)
		}
		read = meter.ChargeAtEnd
	}
	return b.Run(ctx, t, func(events []a2a.Event) error { // not wrapped: as in Run
		read(ctx, events)
		return emit(events)
	})
}

// Canceled implements backend.Canceler.
func (a *agentBackend) Canceled(ctx context.Context, t *a2a.Task) {
	if c, ok := a.inUse.Load().closableBackend.(backend.Canceler); ok {
		if caller, ok := auth.CallerFrom(ctx); ok {
			ctx = delegation.With(ctx, caller.OnBehalf()) // no turn runs, and the tasks of called agents belong to the subject
		}
		c.Canceled(ctx, t)
	}
}

// Unfinished implements backend.Unfinisher.
func (a *agentBackend) Unfinished(ctx context.Context, task string, journal func() ([][]byte, error)) string {
	if u, ok := a.inUse.Load().closableBackend.(backend.Unfinisher); ok {
		return u.Unfinished(ctx, task, journal)
	}
	return ""
}

// approves reports whether the agent asks for approvals itself.
func (a *agentBackend) approves() bool {
	return a.config().Protocol == sidecarconfig.ProtocolChatCompletions
}

// modelBackend returns the backend in use if it calls a model, nil otherwise.
func (a *agentBackend) modelBackend() *modelclient.Backend {
	b, _ := a.inUse.Load().closableBackend.(*modelclient.Backend)
	return b
}

// config returns the configuration in use.
func (a *agentBackend) config() *sidecarconfig.Backend { return &a.inUse.Load().config }

// prepare creates the backend of a configuration, and returns the function that puts it
// into use. commit is nil if the configuration has not changed.
func (a *agentBackend) prepare(agent sidecarconfig.Agent, b *sidecarconfig.Backend) (commit func(), err error) {
	former := a.inUse.Load()
	if former != nil && reflect.DeepEqual(former.config, *b) {
		return nil, nil
	}
	next, err := a.newBackend(agent, b)
	if err != nil {
		return nil, err
	}
	return func() {
		a.inUse.Store(&configuredBackend{*b, next})
		a.model.Tools.Changed()
		if former != nil {
			former.Close()
		}
	}, nil
}

// newBackend returns the backend of a protocol.
func (a *agentBackend) newBackend(agent sidecarconfig.Agent, b *sidecarconfig.Backend) (closableBackend, error) {
	limits := stream.Limits{
		Connect:     b.Timeouts.Connect.Or(0),
		FirstEvent:  b.Timeouts.FirstEvent.Or(0),
		Idle:        b.Timeouts.Idle.Or(0),
		Turn:        b.Timeouts.Turn.Or(0),
		EventMemory: a.maxEvent,
	}
	switch b.Protocol {
	case sidecarconfig.ProtocolA2A:
		// The version is valid, because the configuration was validated. The zero version
		// selects the version on the agent's card.
		v, _ := version.Parse(b.A2A.Version)
		options := upstream.Options{URL: b.URL, Version: v, CardPath: b.A2A.CardPath, Query: b.A2A.Query, Limits: limits}
		if b.A2A.SessionAPI != "" {
			options.Sessions = a.sessions
		}
		return upstream.New(options)
	case sidecarconfig.ProtocolChatCompletions:
		return a.model.Backend(agent, b, limits)
	default:
		return events.New(events.Options{URL: b.URL, Limits: limits, Internal: a.metrics.InternalEvent})
	}
}

// sessionHandler returns the handler of the session API; nil if the agent has none.
func (a *agentBackend) sessionHandler() http.Handler {
	if a.config().A2A.SessionAPI == "" {
		return nil
	}
	return a.sessions
}

// check checks whether turns can use the backend. It calls the model server, or reads the
// card of an agent whose backend protocol is A2A, as a turn would. For other agents it
// returns nil.
func (a *agentBackend) check(ctx context.Context) error {
	if c, ok := a.inUse.Load().closableBackend.(interface {
		Check(ctx context.Context) error
	}); ok {
		return c.Check(ctx)
	}
	return nil
}

// Close closes idle connections.
func (a *agentBackend) Close() { a.inUse.Load().Close() }

// agentProbe checks whether the agent listens. It caches a result for probeMaxAge, so
// that many readiness probes cause few connections. Until the agent has listened once, it
// caches a result only for startMaxAge, so that a starting pod becomes ready without delay.
type agentProbe struct {
	// url returns the URL of the backend.
	url func() string
	now func() time.Time

	mu   sync.Mutex
	last error
	at   time.Time
	// listened is true once a check has found the agent listening.
	listened bool
}

const (
	probeMaxAge  = time.Second
	startMaxAge  = 100 * time.Millisecond
	probeTimeout = 800 * time.Millisecond
)

// check returns nil if the agent listens.
func (p *agentProbe) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	maxAge := startMaxAge
	if p.listened {
		maxAge = probeMaxAge
	}
	if !p.at.IsZero() && p.now().Sub(p.at) < maxAge {
		return p.last
	}
	// Other callers get the cached result, so the check must not fail because ctx of this
	// caller ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	address := dialAddress(p.url())
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		err = probeError(address, err)
	} else {
		_ = connection.Close()
	}
	p.last = err
	p.at = p.now()
	p.listened = p.listened || err == nil
	return err
}

// probeError returns why no connection to the agent could be opened. Only a connection that the agent, or
// its absence, refuses says something about the agent.
func probeError(address string, err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("sidecar cannot connect to the agent on %s, because it has no file descriptor left: close idle connections of clients, or raise the limit of open files: %w", address, err)
	}
	return fmt.Errorf("agent does not listen on %s: its container must listen on $PORT", address)
}

// dialAddress returns the host and port of an http URL. The default port is 80.
func dialAddress(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return host
}

// The backoff of reading the card of an agent whose backend protocol is A2A.
const (
	cardRetryFirst = 200 * time.Millisecond
	cardRetryMax   = 5 * time.Second
)

// trackAgentCard tracks the card of an agent whose backend protocol is A2A. No turn can
// run without the card, so the pod is not ready until the sidecar has read the card once.
// If the agent replaces the card later, turns read the new one.
func trackAgentCard(e *environment) *health.Dependency {
	return e.health.Add(sidecarconfig.DependencyAgentCard, health.Options{
		Blocks: func(is health.Status) bool { return !is.Reached },
	})
}

// awaitAgentCard reads the card with exponential backoff as soon as the agent listens. It
// returns when a read has succeeded, or when ctx ends.
func awaitAgentCard(ctx context.Context, e *environment, card *health.Dependency, agent *agentProbe, read func(context.Context) error) {
	for retry := cardRetryFirst; ctx.Err() == nil; retry = min(2*retry, cardRetryMax) {
		if agent.check(ctx) == nil {
			err := read(ctx)
			if err == nil {
				card.Succeeded()
				return
			}
			if ctx.Err() == nil {
				card.Failf(sidecarconfig.CauseInvalid, "%v", err)
				e.log.WarnContext(ctx, "reading the agent's card failed", "retryIn", retry, "error", err)
			}
		}
		if stream.Sleep(ctx, retry) != nil {
			return
		}
	}
}
