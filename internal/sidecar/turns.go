// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tokenbudget"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/modelserver"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// turns runs the turns of the agent and posts push notifications for their events.
type turns struct {
	*engine.Engine
	backend *agentBackend
	pushes  *pushes
}

// newTurns returns the engine for a task store. The backend and the push notifications
// have no configuration yet. The engine is started after the first configuration has been
// applied.
func newTurns(e *environment, kept *taskStore, limits *serving.Limits) (*turns, error) {
	model := &modelserver.Server{Roots: e.trust.Roots, Local: e.standalone(), Now: e.now}
	budget := tokenbudget.New(tokenbudget.Options{
		Limits: limits.Tokens, Counters: kept.tokens, Refused: func(l tokenbudget.Limit) { e.metrics.Limited(string(l)) },
		Log: e.log, Now: e.now,
	})
	t := &turns{backend: &agentBackend{metrics: e.metrics, tracer: &e.traces.tracer, budget: budget, model: model, now: e.now}}
	var err error
	if t.pushes, err = newPushes(e, kept, limits.HTTP().Answers); err != nil {
		return nil, err
	}
	options := kept.engine
	options.Backend, options.Turns, options.Allow, options.Pushes = t.backend, limits.Turns, budget.Allow, t.pushes
	options.Observer, options.Log, options.Now = e.metrics, e.log, e.now
	// The time for the client's input is the same as the time that the agent has for its
	// next event.
	options.InputTimeout = func() time.Duration { return t.backend.config().Timeouts.Idle.Or(5 * time.Minute) }
	options.Retry = func() bool { return t.backend.config().OnInterruption == sidecarconfig.InterruptionRetry }
	options.DeduplicationWindow = func() time.Duration { return e.current().ProtocolOptions.Deduplication() }
	options.ContinuePaused = func() bool {
		return e.current().ProtocolOptions.ContextReplies == sidecarconfig.ContextRepliesContinuePaused
	}
	if t.Engine, err = engine.New(options); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e.metrics.Gauge("a2a_turns_in_flight", "Turns that are running.", func() float64 { return float64(t.Running()) })
	e.metrics.Gauge("a2a_turns_queued", "Messages that wait in the turn queue.", func() float64 { return float64(t.Queued()) })
	return t, nil
}

// lastPushTime is the time for posting the notifications about turns that were
// interrupted at the end of the grace period.
const lastPushTime = time.Second

// Drain ends the turns and then posts the last push notifications, including those about
// turns that it interrupted because ctx ended.
func (t *turns) Drain(ctx context.Context) error {
	interrupted := t.Engine.Drain(ctx)
	if interrupted != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastPushTime)
		defer cancel()
	}
	return errors.Join(interrupted, t.pushes.Drain(ctx))
}

// pushes posts push notifications to the targets that the configuration allows.
type pushes struct {
	*push.Pushes
	guard *egress.Guard
}

// newPushes returns the pushes for a task store, whose large bodies are charged to memory. No
// target is allowed before the first configuration.
func newPushes(e *environment, kept *taskStore, memory *limit.Budget) (*pushes, error) {
	options := kept.pushes
	guard := egress.New(egress.Options{Cleartext: http1.Wrap})
	options.Guard, options.Observer, options.Log, options.Now = guard, e.metrics, e.log, e.now
	options.Tracer, options.Memory = &e.traces.tracer, memory
	p, err := push.New(options)
	if err != nil {
		return nil, fmt.Errorf("start push notifications: %w", err)
	}
	e.metrics.Gauge("a2a_push_configs", "Push configurations whose tasks are followed.", func() float64 { return float64(p.Following()) })
	return &pushes{p, guard}, nil
}

// resume continues to post the notifications that an earlier process has not delivered.
// If it fails, it logs the error, because the agent can serve without it.
func (p *pushes) resume(ctx context.Context, log *slog.Logger) {
	if err := p.Resume(ctx); err != nil {
		log.ErrorContext(ctx, "resuming push notifications failed", "error", err)
	}
}

// pushPolicy returns the policy with the allowed targets, or nil if push notifications
// are off. In standalone mode, targets may be on this machine.
func pushPolicy(c *sidecarconfig.PushNotifications, standalone bool) (*egress.Policy, error) {
	if c == nil {
		return nil, nil // nil is a valid result: no policy
	}
	p := &egress.Policy{ClusterDomain: c.ClusterDomain, Local: standalone}
	for i, t := range c.AllowedTargets {
		switch {
		case t.Service != nil:
			p.Services = append(p.Services, egress.Service{Name: t.Service.Name, Namespace: t.Service.Namespace})
		case t.Namespace != "":
			p.Namespaces = append(p.Namespaces, t.Namespace)
		case t.Host != "":
			p.Hosts = append(p.Hosts, t.Host)
		default:
			prefix, err := netip.ParsePrefix(t.CIDR)
			if err != nil {
				return nil, fmt.Errorf("allowedTargets[%d].cidr: %w", i, err)
			}
			p.CIDRs = append(p.CIDRs, prefix)
		}
	}
	return p, nil
}
