// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// pushes deliver push notifications to where the contract allows.
type pushes struct {
	*push.Pushes
	guard *egress.Guard
	// local is true outside a cluster, where receivers may be on this machine.
	local bool
}

// newPushes returns the pushes of the tasks that are kept.
func newPushes(c *sidecarconfig.Config, kept *tasks, local bool, m *metrics, log *slog.Logger, now func() time.Time) (*pushes, error) {
	policy, err := pushPolicy(c.PushNotifications, local)
	if err != nil {
		return nil, err
	}
	guard := egress.New(egress.Options{Policy: policy})
	options := kept.pushes
	options.Guard, options.Observer, options.Log, options.Now = guard, m, log, now
	p, err := push.New(options)
	if err != nil {
		return nil, fmt.Errorf("start push notifications: %w", err)
	}
	m.gauge("a2a_push_configs", "Push configurations whose tasks are followed.", func() float64 { return float64(p.Following()) })
	return &pushes{Pushes: p, guard: guard, local: local}, nil
}

// resume goes on with what a former process has not delivered. An agent serves
// without it, too.
func (p *pushes) resume(ctx context.Context, log *slog.Logger) {
	if err := p.Resume(ctx); err != nil {
		log.ErrorContext(ctx, "resume push notifications", "error", err)
	}
}

// pushPolicy is what the guard lets through; nil is nothing.
func pushPolicy(c *sidecarconfig.PushNotifications, local bool) (*egress.Policy, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // no policy is one
	}
	p := &egress.Policy{ClusterDomain: c.ClusterDomain, Local: local}
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
				return nil, fmt.Errorf("contract pushNotifications.allowedTargets[%d].cidr: %w", i, err)
			}
			p.CIDRs = append(p.CIDRs, prefix)
		}
	}
	return p, nil
}

// pushTarget reads a value of --allow-push-to: a range, an address or a name.
func pushTarget(value string) (sidecarconfig.PushTarget, error) {
	if strings.Contains(value, "/") {
		_, err := netip.ParsePrefix(value)
		return sidecarconfig.PushTarget{CIDR: value}, err
	}
	if address, err := netip.ParseAddr(value); err == nil {
		return sidecarconfig.PushTarget{CIDR: netip.PrefixFrom(address, address.BitLen()).String()}, nil
	}
	name := strings.TrimPrefix(value, "*.")
	if value != "*" && (name == "" || strings.ContainsAny(name, "*:@?# \t")) {
		return sidecarconfig.PushTarget{}, fmt.Errorf("%q is no host, address or range", value)
	}
	return sidecarconfig.PushTarget{Host: strings.ToLower(value)}, nil
}
