// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

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
